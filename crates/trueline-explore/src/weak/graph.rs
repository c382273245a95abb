//! Execution graphs: the events of each thread, the write that each read reads from (rf), and the
//! order of the writes to each location (mo).
//!
//! Each event has a **stamp**, which grows from one added event to the next. A graph can be **cut**
//! to the events up to a stamp, and **restricted** to the events that remain when a read is
//! revisited. Both keep sets of events that are closed under sb and rf, so that a thread only loses
//! its last events. The clocks are those of [`clocks`](super::clocks). They are final when an event
//! is added, since no event is ever added before another in sb or rf.

use std::fmt;

use super::clocks::Clocks;
use super::program::{Order, Request};

/// An event, by its thread and its place there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId {
    /// The number of its thread.
    pub thread: u32,
    /// How many events its thread has before it.
    pub index: u32,
}

impl EventId {
    /// Represents the initial write of any location.
    pub const INITIAL: EventId = EventId { thread: u32::MAX, index: u32::MAX };

    /// Whether it is the initial write of a location.
    pub fn is_initial(self) -> bool {
        self == EventId::INITIAL
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_initial() {
            return f.write_str("initial");
        }
        write!(f, "{}.{}", self.thread, self.index)
    }
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A load, a read-modify-write that failed, or the read half of one that did not.
    Read,
    /// A store, or the write half of a read-modify-write.
    Write,
    /// A fence.
    Fence,
    /// A choice of the environment.
    Choice,
}

/// One event of a graph.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its kind.
    pub kind: Kind,
    /// The location that it accesses; 0 if none.
    pub location: usize,
    /// Its ordering.
    pub order: Order,
    /// What was read, written or chosen.
    pub value: u64,
    /// The write that a read reads.
    pub source: EventId,
    /// It is half of a read-modify-write that writes.
    pub is_half: bool,
    /// Its thread waits: the value that it read does not satisfy its condition.
    pub waits: bool,
    pub(crate) stamp: u32,
    pub(crate) request: Request,
    pub(crate) clocks: Clocks,
    /// The index of its location in the graph's table.
    place: u32,
}

/// A location of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) location: usize,
    pub(crate) initial: u64,
    /// Its writes in their order, without the initial one.
    pub(crate) writes: Vec<EventId>,
    pub(crate) reads: Vec<EventId>,
}

impl Place {
    /// The number of writes up to and including a write, without the initial one. The write must be
    /// placed.
    pub(crate) fn rank(&self, write: EventId) -> usize {
        if write.is_initial() {
            return 0;
        }
        1 + self.writes.iter().position(|&other| other == write).expect("a write that is placed")
    }

    /// The write of a rank.
    pub(crate) fn at(&self, rank: usize) -> EventId {
        if rank == 0 { EventId::INITIAL } else { self.writes[rank - 1] }
    }
}

#[derive(Clone, Debug, Default)]
struct Thread {
    events: Vec<Event>,
    /// The clocks of a thread at its start: empty.
    start: Clocks,
}

/// An execution graph, whole or not yet.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    threads: Vec<Thread>,
    places: Vec<Place>,
    stamp: u32,
}

impl Graph {
    /// How many threads it has.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The events of a thread, in order.
    pub fn thread(&self, thread: usize) -> &[Event] {
        &self.threads[thread].events
    }

    /// An event; it must not be an initial write.
    pub fn event(&self, event: EventId) -> &Event {
        &self.threads[event.thread as usize].events[event.index as usize]
    }

    /// All events, by thread.
    pub fn events(&self) -> impl Iterator<Item = (EventId, &Event)> {
        self.threads.iter().zip(0..).flat_map(|(record, thread)| {
            let numbered = record.events.iter().zip(0..);
            numbered.map(move |(event, index)| (EventId { thread, index }, event))
        })
    }

    /// The writes of a location in modification order, without the initial one.
    pub fn writes(&self, location: usize) -> &[EventId] {
        let place = self.places.iter().find(|place| place.location == location);
        place.map_or(&[], |place| &place.writes)
    }

    /// All locations that were accessed.
    pub fn locations(&self) -> impl Iterator<Item = usize> {
        self.places.iter().filter(|p| p.writes.len() + p.reads.len() > 0).map(|p| p.location)
    }

    /// Whether one event happens before another.
    pub fn happens_before(&self, first: EventId, second: EventId) -> bool {
        if second.is_initial() {
            return false;
        }
        first != second && self.event(second).clocks.happens_before.knows(first)
    }

    /// A race: two unordered accesses of one location, at least one of them a write and at least
    /// one not atomic.
    pub fn race(&self) -> Option<(EventId, EventId)> {
        let accesses = |event: &Event| matches!(event.kind, Kind::Read | Kind::Write);
        for (first, a) in self.events().filter(|(_, a)| accesses(a)) {
            for (second, b) in self.events().filter(|(_, b)| accesses(b)) {
                let conflict = first < second
                    && a.location == b.location
                    && (a.kind == Kind::Write || b.kind == Kind::Write)
                    && (a.order == Order::NotAtomic || b.order == Order::NotAtomic);
                if conflict
                    && !self.happens_before(first, second)
                    && !self.happens_before(second, first)
                {
                    return Some((first, second));
                }
            }
        }
        None
    }

    /// The answers to the requests of a thread so far.
    pub fn answers(&self, thread: usize) -> Vec<u64> {
        let mut answers = Vec::new();
        for event in self.thread(thread) {
            match event.kind {
                Kind::Read if event.waits => (),
                Kind::Read | Kind::Choice => answers.push(event.value),
                Kind::Write if event.is_half => (),
                Kind::Write | Kind::Fence => answers.push(0),
            }
        }
        answers
    }

    /// A graph with this many threads and no spawn events.
    pub(crate) fn with_threads(count: usize) -> Graph {
        Graph { threads: vec![Thread::default(); count], ..Graph::default() }
    }

    pub(crate) fn stamp(&self) -> u32 {
        self.stamp
    }

    /// The thread that has made the read half of a read-modify-write but not its write half.
    pub(crate) fn unfinished(&self) -> Option<u32> {
        let is_unfinished = |thread: &Thread| {
            thread.events.last().is_some_and(|event| event.kind == Kind::Read && event.is_half)
        };
        self.threads.iter().position(is_unfinished).map(|thread| thread as u32)
    }

    pub(crate) fn place(&self, event: EventId) -> &Place {
        &self.places[self.event(event).place as usize]
    }

    /// The number of a location in the table; a new location is added.
    fn place_of(&mut self, location: usize, initial: impl FnOnce() -> u64) -> u32 {
        let known = self.places.iter().position(|place| place.location == location);
        let index = known.unwrap_or_else(|| {
            let initial = initial();
            let place = Place { location, initial, writes: Vec::new(), reads: Vec::new() };
            self.places.push(place);
            self.places.len() - 1
        });
        index as u32
    }

    fn next_of(&self, thread: u32) -> EventId {
        EventId { thread, index: self.threads[thread as usize].events.len() as u32 }
    }

    /// The clocks of a thread before one of its events.
    pub(crate) fn clocks_before(&self, event: EventId) -> &Clocks {
        let record = &self.threads[event.thread as usize];
        match event.index {
            0 => &record.start,
            index => &record.events[index as usize - 1].clocks,
        }
    }

    /// Adds an event after the others of its thread. A read reads nothing yet, a write has no place
    /// yet.
    fn add(&mut self, thread: u32, request: Request, kind: Kind, order: Order) -> EventId {
        let id = self.next_of(thread);
        self.stamp += 1;
        self.threads[thread as usize].events.push(Event {
            kind,
            location: 0,
            order,
            value: 0,
            source: EventId::INITIAL,
            is_half: false,
            waits: false,
            stamp: self.stamp,
            request,
            clocks: Clocks::default(),
            place: u32::MAX,
        });
        id
    }

    /// Adds a read, or the read half of a read-modify-write. [`Graph::set_source`] must follow.
    pub(crate) fn add_read(
        &mut self,
        thread: u32,
        request: Request,
        location: usize,
        initial: impl FnOnce() -> u64,
    ) -> EventId {
        let place = self.place_of(location, initial);
        let id = self.add(thread, request, Kind::Read, Order::Relaxed);
        let event = self.event_mut(id);
        (event.location, event.place) = (location, place);
        self.places[place as usize].reads.push(id);
        id
    }

    /// Adds a write, which has no place in mo yet.
    pub(crate) fn add_write(
        &mut self,
        thread: u32,
        request: Request,
        location: usize,
        initial: impl FnOnce() -> u64,
    ) -> EventId {
        let place = self.place_of(location, initial);
        let id = self.add(thread, request, Kind::Write, Order::Relaxed);
        let (order, value, is_half) = match request {
            Request::Write { order, value, .. } => (order, value, false),
            Request::Update { update, success, .. } => {
                let before = EventId { thread, index: id.index - 1 };
                let found = self.event(before).value;
                let value = update.apply(found).expect("it writes over what it has found");
                (success.of_write_half(), value, true)
            }
            _ => unreachable!("a request that writes"),
        };
        let event = self.event_mut(id);
        (event.location, event.place) = (location, place);
        (event.order, event.value, event.is_half) = (order, value, is_half);
        self.compute_clocks(id);
        id
    }

    /// Adds a fence, or a choice of the environment, which is 0 at first.
    pub(crate) fn add_other(&mut self, thread: u32, request: Request) -> EventId {
        let (kind, order) = match request {
            Request::Fence(order) => (Kind::Fence, order),
            _ => (Kind::Choice, Order::Relaxed),
        };
        let id = self.add(thread, request, kind, order);
        self.compute_clocks(id);
        id
    }

    pub(crate) fn choose(&mut self, choice: EventId, value: u64) {
        self.event_mut(choice).value = value;
    }

    fn event_mut(&mut self, event: EventId) -> &mut Event {
        &mut self.threads[event.thread as usize].events[event.index as usize]
    }

    /// The value of a write of the location that a read reads.
    pub(crate) fn value_for(&self, read: EventId, write: EventId) -> u64 {
        if write.is_initial() { self.place(read).initial } else { self.event(write).value }
    }

    /// Whether a thread would wait if its read read this write.
    pub(crate) fn would_wait(&self, read: EventId, write: EventId) -> bool {
        let condition = match self.event(read).request {
            Request::Read { until, .. } | Request::Update { until, .. } => until,
            _ => None,
        };
        condition.is_some_and(|c| !(c.holds)(self.value_for(read, write), c.argument))
    }

    /// Sets the write that a read reads. The value determines the read: its order, whether it is
    /// half of a read-modify-write, and whether its thread waits. It must be the last event of its
    /// thread.
    pub(crate) fn set_source(&mut self, read: EventId, write: EventId) {
        let (value, waits) = (self.value_for(read, write), self.would_wait(read, write));
        let event = self.event_mut(read);
        (event.source, event.value, event.waits) = (write, value, waits);
        match event.request {
            Request::Update { update, success, failure, .. } => {
                event.is_half = !waits && update.apply(value).is_some();
                let writes = event.is_half || waits;
                event.order = if writes { success.of_read_half() } else { failure };
            }
            Request::Read { order, .. } => event.order = order,
            _ => unreachable!("a request that reads"),
        }
        self.compute_clocks(read);
    }

    fn compute_clocks(&mut self, id: EventId) {
        let event = self.event(id);
        let source = match event.kind {
            Kind::Read => event.source,
            Kind::Write if event.is_half => {
                self.event(EventId { index: id.index - 1, ..id }).source
            }
            _ => EventId::INITIAL,
        };
        let source = (!source.is_initial()).then(|| &self.event(source).clocks);
        let before = self.clocks_before(id);
        self.event_mut(id).clocks = Clocks::next(before, id, event.kind, event.order, source);
    }

    /// Sets or changes the place of a write in mo: after this many others, without the initial one.
    pub(crate) fn set_place(&mut self, write: EventId, position: usize) {
        let place = self.event(write).place as usize;
        let writes = &mut self.places[place].writes;
        writes.retain(|&other| other != write);
        writes.insert(position, write);
    }

    /// Removes all events with greater stamps.
    pub(crate) fn cut(&mut self, stamp: u32) {
        for thread in &mut self.threads {
            while thread.events.last().is_some_and(|event| event.stamp > stamp) {
                thread.events.pop();
            }
        }
        self.forget_removed();
    }

    /// What remains if a write revisits a read: the events before the read, and those that the
    /// write needs. The write loses its place.
    pub(crate) fn restricted(&self, read: EventId, by: EventId) -> Graph {
        let mut graph = self.clone();
        let stamp = self.event(read).stamp;
        let prefix = &self.event(by).clocks.prefix;
        for (thread, number) in graph.threads.iter_mut().zip(0..) {
            let needed = prefix.of_thread(number) as usize;
            while thread.events.len() > needed
                && thread.events.last().is_some_and(|event| event.stamp > stamp)
            {
                thread.events.pop();
            }
        }
        graph.forget_removed();
        let place = self.event(by).place as usize;
        graph.places[place].writes.retain(|&other| other != by);
        graph
    }

    /// Removes events from the lists of their locations that are in no thread any more.
    fn forget_removed(&mut self) {
        let threads = &self.threads;
        let exists = |id: &EventId| (id.index as usize) < threads[id.thread as usize].events.len();
        for place in &mut self.places {
            place.writes.retain(exists);
            place.reads.retain(exists);
        }
    }
}
