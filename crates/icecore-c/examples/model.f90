! A model that commits each step: gfortran ../include/icecore.f90 model.f90 -L../../../target/release -licecore_c -o model
program model
  use icecore
  implicit none
  integer, parameter :: nx = 16, ny = 8
  character(len=256) :: address = "run.icecore"
  real(c_float) :: t(nx, ny)
  integer(c_int64_t) :: step, box(3) = [1, ny, nx]
  type(c_ptr) :: repo
  if (command_argument_count() > 0) call get_command_argument(1, address)
  repo = icecore_open(trim(address)//c_null_char, "w"//c_null_char, c_null_ptr)
  if (.not. c_associated(repo)) error stop "the repository can't be opened"
  call check(icecore_array(repo, "/run/t"//c_null_char, "f4"//c_null_char, 3, [0_c_int64_t, box(2:)], box, &
                           "time,y,x"//c_null_char, c_null_ptr))
  do step = 0, 2
    t = 280 + real(step)
    call check(icecore_write(repo, "/run/t"//c_null_char, [step, 0_c_int64_t, 0_c_int64_t], box, t, c_sizeof(t)))
    call check(icecore_commit(repo, "one step"//c_null_char))
  end do
  call check(icecore_read(repo, "/run/t"//c_null_char, [2_c_int64_t, 0_c_int64_t, 0_c_int64_t], box, t, c_sizeof(t)))
  print "(f5.1)", t(1, 1)
  call icecore_close(repo)
contains
  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status /= 0) error stop "icecore failed"
  end subroutine
end program
