//! What a run draws at random: the same for the same seed, so that a run that failed can be drawn again.

use uuid::Uuid;

/// Numbers that are the same for the same seed.
#[derive(Debug)]
pub(crate) struct Dice(u64);

/// The seed that `TASKYARD_TEST_SEED` gives, or one of this moment's.
///
/// # Panics
/// When it gives something else than a whole number.
pub fn seed() -> u64 {
    match std::env::var("TASKYARD_TEST_SEED") {
        Ok(seed) => seed.parse().unwrap_or_else(|_| panic!("TASKYARD_TEST_SEED=`{seed}`: wanted is a whole number")),
        Err(_) => Uuid::new_v4().as_u64_pair().1,
    }
}

impl Dice {
    /// The dice number `number` of a run.
    pub(crate) fn of(seed: u64, number: usize) -> Dice {
        Dice(seed ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// One of `0..below` (splitmix64).
    pub(crate) fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % below.max(1) as u64) as usize
    }
}
