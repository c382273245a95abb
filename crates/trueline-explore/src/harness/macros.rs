//! `operations!`: an enum of operations, an enum of results, and their connection to an object and
//! its specification.

use std::fmt;

use super::Thread;

/// Defines the type of an object's operations and that of their results, and implements
/// [`Operate`](crate::harness::Operate).
///
/// ```
/// use std::collections::VecDeque;
/// use trueline_explore::std::sync::Mutex;
/// use trueline_explore::{explore, operations};
///
/// struct Shared(Mutex<VecDeque<u8>>);
/// impl Shared {
///     fn push(&self, v: u8) {
///         self.0.lock().unwrap().push_back(v);
///     }
///     fn pop(&self) -> Option<u8> {
///         self.0.lock().unwrap().pop_front()
///     }
/// }
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// struct Fifo(VecDeque<u8>);
/// impl Fifo {
///     fn push(&mut self, v: u8) {
///         self.0.push_back(v);
///     }
///     fn pop(&mut self) -> Option<u8> {
///         self.0.pop_front()
///     }
/// }
///
/// operations! {
///     enum Op -> Ret for Shared, Fifo {
///         push(v: u8);
///         pop() -> Option<u8>;
///     }
/// }
///
/// explore(|| Shared(Mutex::new(VecDeque::with_capacity(8))))
///     .spec(Fifo::default())
///     .program([[Op::push(1)], [Op::pop()]])
///     .check();
/// ```
///
/// Each operation is a method of both types, called with clones of its arguments. If that does not
/// fit:
///
/// - `push(v: u8) -> bool = |queue| queue.try_push(v).is_ok();` gives the call on the object,
/// - `pop() -> u8, if |fifo| !fifo.is_empty();` gives the states of the specification in which the
///   operation can continue; it blocks in others,
/// - `for Ring[End<'a> = |ring, thread| ring.end(thread.role)], Fifo {` gives the handle on which
///   each thread calls operations, if it is not `&Ring` itself; `'a` is the lifetime of the object,
/// - `for Shared {` omits the specification: the object itself, run serially, is then the
///   specification.
#[macro_export]
macro_rules! operations {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $Op:ident -> $Ret:ident for $Object:ty
            $([$Handle:ty = $handle:expr])? $(, $Spec:ty)? {
            $($method:ident ( $($argument:ident : $Argument:ty),* $(,)? ) $(-> $Result:ty)?
                $(= $call:expr)? $(, if $enabled:expr)? ;)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, PartialEq, Eq, Hash)]
        #[allow(non_camel_case_types, missing_docs)]
        $visibility enum $Op {
            $($method($($Argument),*)),+
        }

        #[derive(Clone, PartialEq, Eq, Hash)]
        #[allow(non_camel_case_types, missing_docs)]
        $visibility enum $Ret {
            $($method($crate::operations!(@result $($Result)?))),+
        }

        impl ::std::fmt::Debug for $Op {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $($Op::$method($($argument),*) => {
                        let arguments: &[&dyn ::std::fmt::Debug] = &[$($argument),*];
                        $crate::harness::write_call(f, ::std::stringify!($method), arguments)
                    })+
                }
            }
        }

        impl ::std::fmt::Debug for $Ret {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $($Ret::$method(result) => ::std::fmt::Debug::fmt(result, f)),+
                }
            }
        }

        impl $crate::harness::Operate<$Object> for $Op {
            type Ret = $Ret;
            $crate::operations! { @handle $Object $(, $Handle = $handle)? }
            fn operate(&self, handle: &mut Self::Handle<'_>) -> $Ret {
                match self {
                    $($Op::$method($($argument),*) => {
                        $(let $argument = ::std::clone::Clone::clone($argument);)*
                        $Ret::$method($crate::operations!(
                            @call handle, $method, ($($argument),*) $(, $call)?
                        ))
                    })+
                }
            }
        }

        $crate::operations! {
            @spec $Op, $Ret, ($($Spec)?) {
                $($method ($($argument),*) ($($enabled)?))+
            }
        }
    };

    (@result) => { () };
    (@result $Result:ty) => { $Result };

    (@handle $Object:ty) => {
        type Handle<'a> = &'a $Object;
        fn handle(object: &$Object, _: $crate::harness::Thread) -> &$Object {
            object
        }
    };
    (@handle $Object:ty, $Handle:ty = $handle:expr) => {
        type Handle<'a> = $Handle;
        fn handle(object: &$Object, thread: $crate::harness::Thread) -> Self::Handle<'_> {
            $crate::harness::handle_of(object, thread, $handle)
        }
    };

    (@call $handle:ident, $method:ident, ($($argument:ident),*)) => {
        $handle.$method($($argument),*)
    };
    (@call $handle:ident, $method:ident, ($($argument:ident),*), $call:expr) => {
        $crate::harness::call_on($handle, $call)
    };

    (@spec $Op:ident, $Ret:ident, () $methods:tt) => {};
    (@spec $Op:ident, $Ret:ident, ($Spec:ty) {
        $($method:ident ($($argument:ident),*) ($($enabled:expr)?))+
    }) => {
        impl $crate::trueline::Sequential for $Spec {
            type Op = $Op;
            type Ret = $Ret;
            fn apply(&mut self, op: &$Op) -> $Ret {
                match op {
                    $($Op::$method($($argument),*) => $Ret::$method(
                        self.$method($(::std::clone::Clone::clone($argument)),*)
                    )),+
                }
            }
            #[allow(unused_variables)]
            fn enabled(&self, op: &$Op) -> bool {
                match op {
                    $($Op::$method($($argument),*) => {
                        $crate::operations!(@enabled self $(, $enabled)?)
                    }),+
                }
            }
        }
    };
    (@enabled $state:expr) => { true };
    (@enabled $state:expr, $enabled:expr) => { $crate::harness::is_enabled($state, $enabled) };
}

/// Writes `push(1, 2)`.
#[doc(hidden)]
pub fn write_call(
    f: &mut fmt::Formatter<'_>,
    method: &str,
    arguments: &[&dyn fmt::Debug],
) -> fmt::Result {
    write!(f, "{}(", method.trim_start_matches("r#"))?;
    for (i, argument) in arguments.iter().enumerate() {
        write!(f, "{}{argument:?}", if i > 0 { ", " } else { "" })?;
    }
    f.write_str(")")
}

// The argument types of a closure are inferred if it is passed to a function, but not if it is
// called where it stands.

#[doc(hidden)]
pub fn call_on<H, R>(handle: &mut H, call: impl FnOnce(&mut H) -> R) -> R {
    call(handle)
}

#[doc(hidden)]
pub fn handle_of<'a, T, H>(
    object: &'a T,
    thread: Thread,
    make: impl FnOnce(&'a T, Thread) -> H,
) -> H {
    make(object, thread)
}

#[doc(hidden)]
pub fn is_enabled<T>(state: &T, enabled: impl FnOnce(&T) -> bool) -> bool {
    enabled(state)
}
