//! # Threads
//! Work that is shared out and waited for.

use std::panic::resume_unwind;
use std::thread;

/// Does `work` with each of `items`, in a thread for each; returns what comes of them, in their order. A single one
/// needs no other thread.
///
/// # Panics
/// `work` did.
pub fn each<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let mut items: Vec<T> = items.into_iter().collect();
    if items.len() == 1 {
        return items.drain(..).map(work).collect();
    }
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = items
            .into_iter()
            .map(|item| scope.spawn(move || work(item)))
            .collect();
        let joined = threads.into_iter().map(thread::ScopedJoinHandle::join);
        joined
            .map(|done| done.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn what_comes_of_each_is_in_their_order() {
        for count in 0..4 {
            let expected: Vec<_> = (0..count).map(|item| item * item).collect();
            assert_eq!(each(0..count, |item| item * item), expected);
        }
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn a_panic_of_one_is_that_of_all() {
        each(0..4, |item| assert!(item != 2, "the third"));
    }
}
