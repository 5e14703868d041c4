//! Lists of ids, and of what goes with them, in statements.
//!
//! Each length is a text of its own, which the driver and Postgres prepare and keep, connection by connection: the lists of the sweeps,
//! which have any length, would fill both with hundreds of large ones. So a list has one of a few lengths.

/// These, the last of them again and again up to the next power of two.
pub(super) fn padded<T: Copy>(list: &[T]) -> impl Iterator<Item = T> {
    let more = list.len().next_power_of_two() - list.len();
    list.iter().copied().chain(list.last().copied().into_iter().cycle().take(more))
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn lists_have_few_lengths() {
        let ids: Vec<Uuid> = (0..500).map(Uuid::from_u128).collect();
        for (length, padded_to) in [(1, 1), (2, 2), (3, 4), (128, 128), (257, 512), (500, 512)] {
            let list: Vec<Uuid> = padded(&ids[..length]).collect();
            assert_eq!(list.len(), padded_to);
            assert_eq!(list[..length], ids[..length]);
            assert!(list[length..].iter().all(|id| *id == ids[length - 1]));
        }
        assert_eq!(padded::<Uuid>(&[]).count(), 0);
    }
}
