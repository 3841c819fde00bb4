//! Worker pool for decoding: idle workers are parked, and the calling thread decodes too.
//!
//! rayon's workers spin and yield before they park. The calling thread also decodes, so there was one runnable thread more than
//! cores: a yielding worker held the caller's core for up to 4 ms, and one 10 ms read in eight took 50 % longer. These workers
//! park at once.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What each thread that takes part runs once.
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
    /// Someone asks for help.
    called: Condvar,
    /// Someone is through with some work.
    left: Condvar,
}

#[derive(Default)]
struct Desk {
    orders: Vec<Order>,
    threads: usize,
    /// The number of the next order.
    next: u64,
}

struct Order {
    number: u64,
    work: Work<'static>,
    /// How many may still come.
    wanted: usize,
    running: usize,
    /// Someone came.
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

    /// Has `work` run by this thread, where it is to `take_part`, and by as many `helpers` as come before it is over; returns
    /// when nobody is at it any more. Without any helper it is run here.
    pub fn run(self: &Arc<Self>, helpers: usize, take_part: bool, work: Work<'_>) {
        let helpers = self.hire(helpers);
        // SAFETY: `Placed` ends only when nobody runs it and nobody will, before what it borrows is gone.
        let lasting = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(work) };
        let placed = Placed::new(self, lasting, helpers);
        if take_part || helpers == 0 {
            let _part = Part(TAKES_PART.replace(true));
            work();
        } else {
            placed.wait(|order| order.begun && order.running == 0);
        }
    }

    /// Sees to it that there are so many threads; how many there are, where the system gives no more.
    fn hire(self: &Arc<Self>, wanted: usize) -> usize {
        let mut desk = self.lock();
        while desk.threads < wanted {
            let crew = Arc::clone(self);
            let thread = std::thread::Builder::new().name(format!("icecore-{}", desk.threads));
            if thread.spawn(move || crew.help()).is_err() {
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
            // Jobs report panics themselves. Whatever happens, no caller may wait forever for this thread.
            let _told = catch_unwind(AssertUnwindSafe(work));
            desk = self.lock();
            if let Some(order) = desk.find(number) {
                order.running -= 1;
            }
            self.left.notify_all();
        }
    }
}

/// What this thread was before it took part.
struct Part(bool);

impl Drop for Part {
    fn drop(&mut self) {
        TAKES_PART.set(self.0);
    }
}

/// Registered work: workers may take part in it until this is dropped.
struct Placed<'a> {
    crew: &'a WorkerPool,
    number: u64,
}

impl<'a> Placed<'a> {
    fn new(crew: &'a WorkerPool, work: Work<'static>, wanted: usize) -> Self {
        let mut desk = crew.lock();
        let number = desk.next;
        desk.next += 1;
        desk.orders.push(Order { number, work, wanted, running: 0, begun: false });
        drop(desk);
        (0..wanted).for_each(|_| crew.called.notify_one());
        Self { crew, number }
    }

    fn wait(&self, until: impl Fn(&Order) -> bool) {
        let mut desk = self.crew.lock();
        while desk.find(self.number).is_some_and(|order| !until(order)) {
            desk = self.crew.left.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        if let Some(order) = self.crew.lock().find(self.number) {
            order.wanted = 0;
        }
        self.wait(|order| order.running == 0);
        self.crew.lock().orders.retain(|order| order.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn who_helps_is_through_when_the_call_returns() {
        let crew = Arc::<WorkerPool>::default();
        for round in 0..300 {
            let (came, went, own) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
            let (me, take_part) = (thread::current().id(), round % 2 == 0);
            crew.run(3, take_part, &|| {
                came.fetch_add(1, Ordering::Relaxed);
                own.fetch_add(usize::from(thread::current().id() == me), Ordering::Relaxed);
                thread::yield_now();
                went.fetch_add(1, Ordering::Relaxed);
            });
            let came = came.into_inner();
            assert_eq!((came, usize::from(take_part)), (went.into_inner(), own.into_inner()));
            assert!((1..=3 + usize::from(take_part)).contains(&came));
        }
        let desk = crew.lock();
        assert_eq!((desk.threads, desk.orders.len()), (3, 0));
        assert!(!takes_part());
    }

    #[test]
    fn work_inside_work_and_side_by_side_ends() {
        let crew = Arc::<WorkerPool>::default();
        let runs = AtomicUsize::new(0);
        let inner = || {
            runs.fetch_add(1, Ordering::Relaxed);
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|i| crew.run(2, i % 2 == 0, &|| crew.run(2, takes_part(), &inner))));
            }
        });
        assert!(runs.into_inner() >= 4 * 50);
        assert_eq!(crew.lock().threads, 2);
    }

    #[test]
    fn a_panic_leaves_the_crew_whole() {
        let crew = Arc::<WorkerPool>::default();
        for _ in 0..3 {
            crew.run(1, false, &|| panic!("on a thread of the crew"));
        }
        let caught = catch_unwind(AssertUnwindSafe(|| crew.run(1, true, &|| panic!("here, perhaps there too"))));
        assert!(caught.is_err());
        assert!(!takes_part() && crew.lock().orders.is_empty());
        let runs = AtomicUsize::new(0);
        crew.run(1, false, &|| {
            runs.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(runs.into_inner(), 1);
    }
}
