//! Operations, the groups that matching makes of them, and their changes at calls and returns.
//!
//! A *group* is an addition (a write, an acquire) with its matches: its removal (its reads, its
//! release). Values are unique among the groups that are not removed yet, so a result determines
//! the matching. A group takes part in the rules once its addition or its match has returned: then
//! it must have happened.

use std::collections::{BTreeSet, VecDeque};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::order::{Order, members};
use super::{SEEN_BUT_FAILED, Why, unknown_method, unknown_operation};
use crate::theory::{Method, Object};
use crate::value::Value;

/// Numbers of initial values: no driver counts this far.
pub(crate) const INITIAL: u64 = 1 << 63;

/// No slot, no group.
pub(super) const NONE: u32 = u32::MAX;

/// The role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// An addition, a write or an acquire, pending or not.
    Add,
    /// A removal or release of unknown result.
    Removing,
    /// A read of unknown result.
    Reading,
    /// A removal or release that returned its value.
    Removal,
    /// A removal that comes later, or never.
    Virtual,
    /// A removal that found nothing.
    Empty,
    /// A read.
    Read,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) role: Role,
    /// Its group, or [`NONE`].
    pub(super) group: u32,
    /// The driver's number, [`INITIAL`] and up for initial values; `None` for virtual removals.
    pub(super) number: Option<u64>,
    /// When it was called.
    called: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) value: Value,
    pub(super) add: u32,
    /// The addition has returned.
    pub(super) added: bool,
    /// The removal, real or virtual, or [`NONE`].
    pub(super) removal: u32,
    /// The removal has returned: it certainly happens.
    pub(super) real: bool,
    /// The reads that returned, of a register's write.
    pub(super) reads: SmallVec<[u32; 2]>,
    /// Distinguishes it from other groups in the same place.
    pub(super) serial: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Matched {
    pub(super) object: Object,
    pub(super) forgets: bool,
    pub(super) order: Order,
    /// By slot; only those of live slots mean something.
    pub(super) nodes: Vec<Node>,
    pub(super) groups: Vec<Group>,
    pub(super) free_groups: Vec<u32>,
    pub(super) by_value: HashMap<Value, u32, FixedState>,
    /// Slots of open operations by the driver's number.
    open: HashMap<u64, u32, FixedState>,
    /// The nodes that returned.
    pub(super) completed: Vec<u64>,
    /// The nodes that returned and everything that must come before one of them: they come before
    /// every later call.
    pub(super) past: Vec<u64>,
    pub(super) virtuals: Vec<u64>,
    pub(super) pending_removals: Vec<u32>,
    /// Acquires that returned minus releases that were called.
    pub(super) balance: i64,
    /// Counts calls and returns.
    pub(super) clock: u64,
    /// When the open operations were called.
    pub(super) open_since: BTreeSet<u64>,
    /// Entries that may be forgotten once everything called before this time has returned, in order
    /// of time.
    pub(super) waiting: VecDeque<(u64, Waiting)>,
}

/// Something to forget.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waiting {
    /// A removal that found nothing.
    Empty(u32),
    /// A group; of a register, whatever its write overwrote.
    Group(u32, u64),
}

impl Matched {
    pub(super) fn new(object: Object) -> Matched {
        Matched {
            object,
            forgets: false,
            order: Order::default(),
            nodes: Vec::new(),
            groups: Vec::new(),
            free_groups: Vec::new(),
            by_value: HashMap::default(),
            open: HashMap::default(),
            completed: Vec::new(),
            past: Vec::new(),
            virtuals: Vec::new(),
            pending_removals: Vec::new(),
            balance: 0,
            clock: 0,
            open_since: BTreeSet::new(),
            waiting: VecDeque::new(),
        }
    }

    pub(super) fn hold(&mut self, values: &[Value]) -> Result<(), Why> {
        if self.object == Object::Register {
            // The initial value of the register is no longer the first one.
            let Matched { object, forgets, .. } = *self;
            *self = Matched { forgets, ..Matched::new(object) };
        }
        let mut previous = None;
        for (value, number) in values.iter().zip(INITIAL..) {
            let add = self.node(Role::Add, Some(number));
            let group = self.new_group(value, add)?;
            self.complete(add);
            let ordered = !matches!(self.object, Object::PriorityQueue { .. });
            if let Some(previous) = previous.filter(|_| ordered) {
                self.edge(previous, add)?;
            }
            previous = Some(add);
            self.addition_returned(group)?;
        }
        self.order.news.clear();
        Ok(())
    }

    pub(super) fn held(&self) -> usize {
        self.order.len()
    }

    /// The driver's numbers of the operations that are remembered, ascending.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.slots().iter().map(|&(number, _)| number).filter(|&number| number < INITIAL).collect()
    }

    /// The remembered operations, including initial values, with their slots; ascending.
    pub(super) fn slots(&self) -> Vec<(u64, u32)> {
        let closed = members(&self.completed)
            .filter_map(|slot| self.nodes[slot as usize].number.map(|number| (number, slot)));
        let mut slots: Vec<(u64, u32)> =
            closed.chain(self.open.iter().map(|(&number, &slot)| (number, slot))).collect();
        slots.sort_unstable();
        slots
    }

    pub(super) fn call(
        &mut self,
        number: u64,
        method: Method,
        argument: &Value,
    ) -> Result<(), Why> {
        self.clock += 1;
        let role = match (self.object, method) {
            (Object::Register, Method::Write) => Role::Add,
            (Object::Register, Method::Read) => Role::Reading,
            (Object::Lock | Object::Semaphore(_), Method::Acquire) if argument.is_nil() => {
                return Err(untagged());
            }
            (Object::Lock | Object::Semaphore(_), Method::Acquire) => Role::Add,
            (Object::Lock | Object::Semaphore(_), Method::Release) => Role::Removing,
            (Object::Register | Object::Lock | Object::Semaphore(_), method) => {
                return Err(unknown_method(&self.object.to_string(), method));
            }
            (_, Method::Add) => Role::Add,
            (_, Method::Remove) => Role::Removing,
            (_, method) => return Err(unknown_method(&self.object.to_string(), method)),
        };
        let slot = self.node(role, Some(number));
        self.order.put_behind(&self.past, slot);
        self.open.insert(number, slot);
        self.open_since.insert(self.clock);
        match role {
            Role::Add => {
                self.new_group(argument, slot)?;
            }
            Role::Removing => {
                self.pending_removals.push(slot);
                self.balance -= 1;
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn returned(&mut self, number: u64, result: &Value) -> Result<(), Why> {
        self.clock += 1;
        let slot = self.open.remove(&number).ok_or_else(|| unknown_operation(number))?;
        let Node { role, group, called, .. } = self.nodes[slot as usize];
        self.open_since.remove(&called);
        self.complete(slot);
        match role {
            Role::Add if *result == Value::Bool(false) => {
                return Err(Why::Unfit("saturation has no rule for an acquire that fails".into()));
            }
            Role::Add => self.addition_returned(group)?,
            Role::Removing => self.removal_returned(slot, result)?,
            _ => self.read_returned(slot, result)?,
        }
        self.saturate()?;
        if self.forgets {
            self.forget();
        }
        Ok(())
    }

    pub(super) fn failed(&mut self, number: u64) -> Result<(), Why> {
        self.clock += 1;
        let slot = self.open.remove(&number).ok_or_else(|| unknown_operation(number))?;
        let Node { role, group, called, .. } = self.nodes[slot as usize];
        self.open_since.remove(&called);
        match role {
            Role::Add => {
                let this = &self.groups[group as usize];
                if this.real || !this.reads.is_empty() {
                    return Err(SEEN_BUT_FAILED);
                }
                self.free_group(group);
            }
            _ => {
                if role == Role::Removing {
                    self.pending_removals.retain(|&p| p != slot);
                    self.balance += 1;
                }
                self.free(slot);
            }
        }
        Ok(())
    }

    fn addition_returned(&mut self, group: u32) -> Result<(), Why> {
        self.balance += 1;
        let now = self.clock;
        let this = &mut self.groups[group as usize];
        this.added = true;
        let (add, serial, real) = (this.add, this.serial, this.real);
        if self.object == Object::Register {
            self.waiting.push_back((now, Waiting::Group(group, serial)));
        } else if real {
            self.waiting.push_back((now, Waiting::Group(group, serial)));
            return Ok(());
        } else {
            let later = self.node(Role::Virtual, None);
            self.nodes[later as usize].group = group;
            self.groups[group as usize].removal = later;
            self.virtuals[later as usize / 64] |= 1 << (later % 64);
            self.edge(add, later)?;
        }
        self.order.renew(add);
        Ok(())
    }

    fn removal_returned(&mut self, slot: u32, result: &Value) -> Result<(), Why> {
        self.pending_removals.retain(|&p| p != slot);
        let is_lock = matches!(self.object, Object::Lock | Object::Semaphore(_));
        if result.is_nil() {
            if is_lock {
                return Err(untagged());
            }
            self.nodes[slot as usize].role = Role::Empty;
            self.waiting.push_back((self.clock, Waiting::Empty(slot)));
            self.order.renew(slot);
            return Ok(());
        }
        let Some(&group) = self.by_value.get(result) else {
            return Err(Why::Broken(if is_lock {
                "a release ends an acquire that nobody called, or that is long released"
            } else {
                "a value was removed that nobody added, or that is long removed"
            }));
        };
        let Group { add, added, removal, real, serial, .. } = self.groups[group as usize];
        if real {
            return Err(Why::Broken(if is_lock {
                "an acquire was released twice"
            } else {
                "a value was removed twice"
            }));
        }
        let this = &mut self.groups[group as usize];
        this.removal = slot;
        this.real = true;
        let node = &mut self.nodes[slot as usize];
        node.role = Role::Removal;
        node.group = group;
        if removal != NONE {
            self.merge(removal, slot)?;
        }
        self.edge(add, slot)?;
        self.order.renew(add);
        self.order.renew(slot);
        if added {
            self.waiting.push_back((self.clock, Waiting::Group(group, serial)));
        }
        Ok(())
    }

    /// The virtual removal turns out to be this operation.
    fn merge(&mut self, later: u32, slot: u32) -> Result<(), Why> {
        let front: Vec<u32> = members(self.order.before(later)).collect();
        let behind: Vec<u32> = members(self.order.after(later)).collect();
        self.free(later);
        for x in front {
            self.edge(x, slot)?;
        }
        for x in behind {
            self.edge(slot, x)?;
        }
        Ok(())
    }

    fn read_returned(&mut self, slot: u32, result: &Value) -> Result<(), Why> {
        let Some(&group) = self.by_value.get(result) else {
            return Err(Why::Broken(
                "a value was read that was never written, or was overwritten before the read",
            ));
        };
        let write = self.groups[group as usize].add;
        self.edge(write, slot)?;
        let node = &mut self.nodes[slot as usize];
        node.role = Role::Read;
        node.group = group;
        let mut reads = std::mem::take(&mut self.groups[group as usize].reads);
        if self.forgets {
            self.forget_earlier_reads(&mut reads, slot);
        }
        reads.push(slot);
        self.groups[group as usize].reads = reads;
        self.order.renew(slot);
        self.order.renew(write);
        Ok(())
    }

    /// Puts one node in front of another.
    pub(super) fn edge(&mut self, x: u32, y: u32) -> Result<bool, Why> {
        let new = self.order.edge(x, y)?;
        if new && contains(&self.past, y) {
            for (past, &before) in self.past.iter_mut().zip(self.order.before(y)) {
                *past |= before;
            }
        }
        Ok(new)
    }

    fn complete(&mut self, slot: u32) {
        self.completed[slot as usize / 64] |= 1 << (slot % 64);
        self.past[slot as usize / 64] |= 1 << (slot % 64);
        for (past, &before) in self.past.iter_mut().zip(self.order.before(slot)) {
            *past |= before;
        }
    }

    fn node(&mut self, role: Role, number: Option<u64>) -> u32 {
        let slot = self.order.add();
        let width = self.order.width();
        for set in [&mut self.completed, &mut self.past, &mut self.virtuals] {
            set.resize(width, 0);
        }
        let node = Node { role, group: NONE, number, called: self.clock };
        if slot as usize >= self.nodes.len() {
            self.nodes.resize(slot as usize + 1, node.clone());
        }
        self.nodes[slot as usize] = node;
        slot
    }

    /// Forgets a node; the order of the others stays.
    pub(super) fn free(&mut self, slot: u32) {
        self.order.drop(slot);
        let (word, bit) = (slot as usize / 64, 1u64 << (slot % 64));
        for set in [&mut self.completed, &mut self.past, &mut self.virtuals] {
            set[word] &= !bit;
        }
    }

    fn new_group(&mut self, value: &Value, add: u32) -> Result<u32, Why> {
        let known = self.by_value.get(value);
        if known.is_some_and(|&g| !self.groups[g as usize].real) {
            let (what, done) = match self.object {
                Object::Register => ("write", "written"),
                Object::Lock | Object::Semaphore(_) => ("acquire", "used as a tag"),
                _ => ("addition", "added"),
            };
            return Err(Why::Unfit(format!(
                "saturation needs every {what} to be unique: {value} is {done} twice"
            )));
        }
        let group = Group {
            value: value.clone(),
            add,
            added: false,
            removal: NONE,
            real: false,
            reads: SmallVec::new(),
            serial: self.clock,
        };
        let place = match self.free_groups.pop() {
            Some(place) => {
                self.groups[place as usize] = group;
                place
            }
            None => {
                self.groups.push(group);
                self.groups.len() as u32 - 1
            }
        };
        self.nodes[add as usize].group = place;
        self.by_value.insert(value.clone(), place);
        Ok(place)
    }
}

fn untagged() -> Why {
    Why::Unfit(
        "saturation needs tags that tell which release ends which acquire: the history has none"
            .into(),
    )
}

/// Whether a set has this member.
pub(super) fn contains(set: &[u64], member: u32) -> bool {
    set[member as usize / 64] >> (member % 64) & 1 != 0
}
