! Interfaces of icecore.h for Fortran. Axes are in C order: the last number of `start` and `shape` belongs to the first axis
! of the Fortran array. Texts end with c_null_char.
module icecore
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    type(c_ptr) function icecore_open(address, mode, version) bind(c)
      import
      character(kind=c_char), intent(in) :: address(*), mode(*)
      type(c_ptr), value :: version
    end function
    integer(c_int) function icecore_array(repo, path, dtype, rank, shape, chunks, dims, codecs) bind(c)
      import
      type(c_ptr), value :: repo, codecs
      character(kind=c_char), intent(in) :: path(*), dtype(*), dims(*)
      integer(c_int), value :: rank
      integer(c_int64_t), intent(in) :: shape(*), chunks(*)
    end function
    integer(c_int) function icecore_attributes(repo, path, json) bind(c)
      import
      type(c_ptr), value :: repo
      character(kind=c_char), intent(in) :: path(*), json(*)
    end function
    integer(c_int) function icecore_write(repo, path, start, shape, data, bytes) bind(c)
      import
      type(c_ptr), value :: repo
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int64_t), intent(in) :: start(*), shape(*)
      type(*), intent(in) :: data(*)
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function icecore_commit(repo, message) bind(c)
      import
      type(c_ptr), value :: repo
      character(kind=c_char), intent(in) :: message(*)
    end function
    integer(c_int) function icecore_shape(repo, path, rank, shape) bind(c)
      import
      type(c_ptr), value :: repo
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), intent(out) :: rank
      integer(c_int64_t), intent(inout) :: shape(32)
    end function
    integer(c_int) function icecore_read(repo, path, start, shape, data, bytes) bind(c)
      import
      type(c_ptr), value :: repo
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int64_t), intent(in) :: start(*), shape(*)
      type(*), intent(inout) :: data(*)
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function icecore_take(repo, message, bytes) bind(c)
      import
      type(c_ptr), value :: repo
      type(c_ptr), intent(out) :: message
      integer(c_size_t), intent(out) :: bytes
    end function
    integer(c_int) function icecore_merge(repo, message, bytes) bind(c)
      import
      type(c_ptr), value :: repo, message
      integer(c_size_t), value :: bytes
    end function
    subroutine icecore_free(message, bytes) bind(c)
      import
      type(c_ptr), value :: message
      integer(c_size_t), value :: bytes
    end subroutine
    subroutine icecore_close(repo) bind(c)
      import
      type(c_ptr), value :: repo
    end subroutine
    type(c_ptr) function icecore_error() bind(c)
      import
    end function
  end interface
end module
