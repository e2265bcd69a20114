//! # Threads
//! Runs a function for several items in parallel.

use std::panic::resume_unwind;
use std::thread;

/// Calls `work` with each of `items` in a separate thread, and returns the results in the order of the items. A single
/// item is processed in the calling thread.
///
/// # Panics
/// If `work` panics.
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
    fn results_are_in_the_order_of_the_items() {
        for count in 0..4 {
            let expected: Vec<_> = (0..count).map(|item| item * item).collect();
            assert_eq!(each(0..count, |item| item * item), expected);
        }
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn a_panic_in_a_thread_is_passed_on() {
        each(0..4, |item| assert!(item != 2, "the third"));
    }
}
