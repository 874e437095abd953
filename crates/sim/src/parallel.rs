use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Applies `f` to each item on so many threads; the answers stand in the order of the items.
///
/// # Panics
///
/// If `f` does.
pub fn parallel<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    f: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    let answer = f(item);
                    done.lock()
                        .expect("no thread panics with it")
                        .push((index, answer));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panicked");
    done.sort_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_stand_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..100).collect();
        let expected: Vec<u32> = (0..100).map(|n| n * n).collect();
        assert_eq!(parallel(3, &items, |n| n * n), expected);
        assert_eq!(parallel(8, &[] as &[u32], |n| n * n), Vec::<u32>::new());
    }
}
