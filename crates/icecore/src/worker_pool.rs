//! Worker pool for decoding: idle workers are parked, and the calling thread decodes too.
//!
//! rayon's workers spin and yield before they park. Because the calling thread also decodes, there was one more
//! runnable thread than cores: a yielding worker held the caller's core for up to 4 ms, and one 10 ms read in eight
//! took 50 % longer. These workers park at once.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The function that each participating thread calls once.
type Work<'a> = &'a (dyn Fn() + Sync);

thread_local!(static TAKES_PART: Cell<bool> = const { Cell::new(false) });

/// Whether this thread is a worker of a pool or takes part in its work.
pub(crate) fn takes_part() -> bool {
    TAKES_PART.get()
}

/// The worker threads and their jobs.
#[derive(Default)]
pub(crate) struct WorkerPool {
    desk: Mutex<Desk>,
    /// Signalled when a job is registered.
    called: Condvar,
    /// Signalled when a thread finishes its part of a job.
    left: Condvar,
}

#[derive(Default)]
struct Desk {
    orders: Vec<Order>,
    threads: usize,
    /// The number of the next job.
    next: u64,
}

struct Order {
    number: u64,
    work: Work<'static>,
    /// Number of workers that may still join.
    wanted: usize,
    running: usize,
    /// Records that a worker has joined.
    begun: bool,
}

impl Desk {
    fn find(&mut self, number: u64) -> Option<&mut Order> {
        self.orders.iter_mut().find(|order| order.number == number)
    }
}

impl WorkerPool {
    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on up to `helpers` workers, and on this thread if `take_part` is set or there are no workers. Returns
    /// when all of them have finished.
    pub fn run(self: &Arc<Self>, helpers: usize, take_part: bool, work: Work<'_>) {
        let helpers = self.hire(helpers);
        // SAFETY: `Placed` is dropped only when no thread runs the work or will run it, so the borrowed data outlives it.
        let unbounded = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(work) };
        let placed = Placed::new(self, unbounded, helpers);
        if take_part || helpers == 0 {
            let _part = Part(TAKES_PART.replace(true));
            work();
        } else {
            placed.wait(|order| order.begun && order.running == 0);
        }
    }

    /// Starts threads until there are `wanted`; returns how many there are, fewer if the system allows no more.
    fn hire(self: &Arc<Self>, wanted: usize) -> usize {
        let mut desk = self.lock();
        while desk.threads < wanted {
            let pool = Arc::clone(self);
            let thread = std::thread::Builder::new().name(format!("icecore-{}", desk.threads));
            if thread.spawn(move || pool.help()).is_err() {
                break;
            }
            desk.threads += 1;
        }
        desk.threads.min(wanted)
    }

    /// Main loop of a worker thread.
    fn help(&self) {
        TAKES_PART.set(true);
        let mut desk = self.lock();
        loop {
            let Some(order) = desk.orders.iter_mut().find(|order| order.wanted > 0) else {
                desk = self.called.wait(desk).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            order.wanted -= 1;
            order.running += 1;
            order.begun = true;
            let (number, work) = (order.number, order.work);
            drop(desk);
            // Jobs report panics themselves; a caller must never wait forever for this thread.
            let _panic = catch_unwind(AssertUnwindSafe(work));
            desk = self.lock();
            if let Some(order) = desk.find(number) {
                order.running -= 1;
            }
            self.left.notify_all();
        }
    }
}

/// Restores the thread's previous state.
struct Part(bool);

impl Drop for Part {
    fn drop(&mut self) {
        TAKES_PART.set(self.0);
    }
}

/// Registered work: workers may take part in it until this is dropped.
struct Placed<'a> {
    pool: &'a WorkerPool,
    number: u64,
}

impl<'a> Placed<'a> {
    fn new(pool: &'a WorkerPool, work: Work<'static>, wanted: usize) -> Self {
        let mut desk = pool.lock();
        let number = desk.next;
        desk.next += 1;
        desk.orders.push(Order { number, work, wanted, running: 0, begun: false });
        drop(desk);
        (0..wanted).for_each(|_| pool.called.notify_one());
        Self { pool, number }
    }

    fn wait(&self, until: impl Fn(&Order) -> bool) {
        let mut desk = self.pool.lock();
        while desk.find(self.number).is_some_and(|order| !until(order)) {
            desk = self.pool.left.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        if let Some(order) = self.pool.lock().find(self.number) {
            order.wanted = 0;
        }
        self.wait(|order| order.running == 0);
        self.pool.lock().orders.retain(|order| order.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn who_helps_is_through_when_the_call_returns() {
        let pool = Arc::<WorkerPool>::default();
        for round in 0..300 {
            let (came, went, own) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
            let (me, take_part) = (thread::current().id(), round % 2 == 0);
            pool.run(3, take_part, &|| {
                came.fetch_add(1, Ordering::Relaxed);
                own.fetch_add(usize::from(thread::current().id() == me), Ordering::Relaxed);
                thread::yield_now();
                went.fetch_add(1, Ordering::Relaxed);
            });
            let came = came.into_inner();
            assert_eq!((came, usize::from(take_part)), (went.into_inner(), own.into_inner()));
            assert!((1..=3 + usize::from(take_part)).contains(&came));
        }
        let desk = pool.lock();
        assert_eq!((desk.threads, desk.orders.len()), (3, 0));
        assert!(!takes_part());
    }

    #[test]
    fn work_inside_work_and_side_by_side_ends() {
        let pool = Arc::<WorkerPool>::default();
        let runs = AtomicUsize::new(0);
        let inner = || {
            runs.fetch_add(1, Ordering::Relaxed);
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|i| pool.run(2, i % 2 == 0, &|| pool.run(2, takes_part(), &inner))));
            }
        });
        assert!(runs.into_inner() >= 4 * 50);
        assert_eq!(pool.lock().threads, 2);
    }

    #[test]
    fn a_panic_leaves_the_pool_usable() {
        let pool = Arc::<WorkerPool>::default();
        for _ in 0..3 {
            pool.run(1, false, &|| panic!("on a thread of the pool"));
        }
        let caught = catch_unwind(AssertUnwindSafe(|| pool.run(1, true, &|| panic!("here, perhaps there too"))));
        assert!(caught.is_err());
        assert!(!takes_part() && pool.lock().orders.is_empty());
        let runs = AtomicUsize::new(0);
        pool.run(1, false, &|| {
            runs.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(runs.into_inner(), 1);
    }
}
