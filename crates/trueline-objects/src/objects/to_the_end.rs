//! Destructors of the user's may panic. What is left is dropped all the same, as std's collections
//! do: the first panic goes on when all is done, and a second one meanwhile ends the process.

/// Calls a function until it says that nothing is left, also after a call that panics.
pub(crate) fn to_the_end(step: impl FnMut() -> bool) {
    struct Rest<F: FnMut() -> bool>(F);

    impl<F: FnMut() -> bool> Drop for Rest<F> {
        fn drop(&mut self) {
            while (self.0)() {}
        }
    }

    let mut rest = Rest(step);
    while (rest.0)() {}
}

/// Calls a function for each item, also after a call that panics.
pub(crate) fn for_each_to_the_end<I>(items: impl IntoIterator<Item = I>, mut each: impl FnMut(I)) {
    let mut items = items.into_iter();
    to_the_end(|| items.next().map(&mut each).is_some());
}
