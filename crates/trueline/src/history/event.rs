//! What a process does: the one type of event that readers, streams, live monitors and generated
//! histories share.

/// An event of a process. The process and the time are given separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<Op, Ret> {
    /// It calls, on the object of this number.
    Call(u32, Op),
    /// Its call returns.
    Return(Ret),
    /// Its call is known not to have happened.
    Fail,
    /// The outcome of its call stays unknown.
    Unknown,
}
