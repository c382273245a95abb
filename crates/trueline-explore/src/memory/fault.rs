//! Memory faults and their descriptions.

use std::fmt;
use std::panic::Location;

/// Where the explored code did something to a block. The allocator does not see its caller; the
/// site is that of the thread's last shadow operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The thread, numbered in the order of spawning; the first is 0.
    pub thread: u32,
    /// Its last shadow operation, if it had done one.
    pub after: Option<&'static Location<'static>>,
}

/// The ways in which memory is misused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryFaultKind {
    /// A shadow operation touched a block that was freed before.
    UseAfterFree,
    /// A block was freed that was free already.
    DoubleFree,
    /// The freed address is not the start of a block.
    InvalidFree,
    /// A block was still there when the execution ended.
    Leak,
    /// Bytes of a freed block had changed when the execution ended.
    WriteAfterFree,
    /// A block was freed while another thread's access to it was not ordered before the free by the
    /// memory orderings of the program.
    UnorderedFree,
}

/// One misuse of memory that an execution showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFault {
    /// Which misuse.
    pub kind: MemoryFaultKind,
    /// Bytes requested when the block was allocated; 0 if there is no such block.
    pub size: usize,
    /// Where the block was allocated.
    pub allocated: Option<Site>,
    /// Where it was freed first.
    pub freed: Option<Site>,
    /// The offending access or the second free. For a leak, `count` is the number of leaked blocks.
    pub at: Option<Site>,
    /// How many blocks are concerned: more than 1 only for leaks.
    pub count: usize,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.after {
            Some(location) => write!(f, "thread {} at or after {location}", self.thread),
            None => write!(f, "thread {} before its first shadow operation", self.thread),
        }
    }
}

impl fmt::Display for MemoryFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.size;
        match self.kind {
            MemoryFaultKind::UseAfterFree => {
                write!(f, "use after free of a block of {size} bytes")?
            }
            MemoryFaultKind::DoubleFree => write!(f, "double free of a block of {size} bytes")?,
            MemoryFaultKind::InvalidFree => write!(f, "free of an address where no block starts")?,
            MemoryFaultKind::Leak if self.count == 1 => {
                write!(f, "leak of a block of {size} bytes")?
            }
            MemoryFaultKind::Leak => {
                write!(f, "leak of {} blocks, the first of {size} bytes", self.count)?;
            }
            MemoryFaultKind::WriteAfterFree => {
                write!(f, "a freed block of {size} bytes was written by a plain store")?;
            }
            MemoryFaultKind::UnorderedFree => write!(
                f,
                "possible use after free of a block of {size} bytes: nothing orders the free after an access"
            )?,
        }
        if let Some(site) = self.at {
            write!(f, "\n  by {site}")?;
        }
        if let Some(site) = self.freed {
            write!(f, "\n  freed by {site}")?;
        }
        if let Some(site) = self.allocated {
            write!(f, "\n  allocated by {site}")?;
        }
        Ok(())
    }
}
