//! The containers that [`Blocking`](super::Blocking) can wrap: the linearizable queues of this
//! library, its stack, and its priority queues.

use super::blocking::Queue;
use super::{
    ArrayQueue, BoundedPriorityQueue, FetchAddQueue, MichaelScottQueue, PriorityQueue, Semiqueue,
    TreiberStack,
};

impl<T> Queue for TreiberStack<T> {
    type Item = T;
    const IS_BOUNDED: bool = false;

    fn offer(&self, item: T) -> Result<(), T> {
        self.push(item);
        Ok(())
    }

    fn poll(&self) -> Option<T> {
        self.pop()
    }
}

impl<T> Queue for MichaelScottQueue<T> {
    type Item = T;
    const IS_BOUNDED: bool = false;

    fn offer(&self, item: T) -> Result<(), T> {
        self.enq(item);
        Ok(())
    }

    fn poll(&self) -> Option<T> {
        self.deq()
    }
}

impl<T> Queue for FetchAddQueue<T> {
    type Item = T;
    const IS_BOUNDED: bool = false;

    fn offer(&self, item: T) -> Result<(), T> {
        self.enq(item);
        Ok(())
    }

    fn poll(&self) -> Option<T> {
        self.deq()
    }
}

impl<T> Queue for Semiqueue<T> {
    type Item = T;
    const IS_BOUNDED: bool = false;

    fn offer(&self, item: T) -> Result<(), T> {
        self.enq(item);
        Ok(())
    }

    fn poll(&self) -> Option<T> {
        self.deq()
    }
}

impl<T> Queue for ArrayQueue<T> {
    type Item = T;
    const IS_BOUNDED: bool = true;

    fn offer(&self, item: T) -> Result<(), T> {
        self.enq(item)
    }

    fn poll(&self) -> Option<T> {
        self.deq()
    }
}

impl<P: Ord + Clone, T> Queue for PriorityQueue<P, T> {
    type Item = (P, T);
    const IS_BOUNDED: bool = false;

    fn offer(&self, (priority, item): (P, T)) -> Result<(), (P, T)> {
        self.push(priority, item);
        Ok(())
    }

    fn poll(&self) -> Option<(P, T)> {
        self.pop()
    }
}

impl<T> Queue for BoundedPriorityQueue<T> {
    type Item = (usize, T);
    const IS_BOUNDED: bool = true;

    fn offer(&self, (priority, item): (usize, T)) -> Result<(), (usize, T)> {
        self.push(priority, item).map_err(|item| (priority, item))
    }

    fn poll(&self) -> Option<(usize, T)> {
        self.pop()
    }
}
