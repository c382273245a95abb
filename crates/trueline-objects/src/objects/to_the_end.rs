//! Destructors of the user's may panic. The rest is dropped all the same, as in std's collections:
//! the first panic continues when everything is done, and a second one meanwhile ends the process.

/// Calls a function until it returns false, even after a call that panics.
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
