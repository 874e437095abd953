use std::fmt;

use crate::Pace;

/// The paces that a door has beside its first one, by their numbers, which are 1 to 7.
///
/// ```
/// use tidegate_core::{FurtherPaces, per_minute};
///
/// let mut further = FurtherPaces::default();
/// further.set(1, Some(per_minute(200_000.0)));
/// let numbers: Vec<_> = further.iter().map(|(number, _)| number).collect();
/// assert_eq!(numbers, [1]);
/// ```
#[derive(Clone, Copy, Default, PartialEq)]
pub struct FurtherPaces([Option<Pace>; Self::MOST]);

impl FurtherPaces {
    /// How many there may be.
    pub const MOST: usize = 7;

    /// The one of that number, or none. Of another number it does nothing.
    pub fn set(&mut self, number: usize, pace: Option<Pace>) {
        let kept = number
            .checked_sub(1)
            .and_then(|index| self.0.get_mut(index));
        if let Some(kept) = kept {
            *kept = pace;
        }
    }

    /// Those that there are, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Pace)> {
        let numbered = (1..).zip(&self.0);
        numbered.filter_map(|(number, pace)| Some((number, (*pace)?)))
    }
}

impl fmt::Debug for FurtherPaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::per_second;

    #[test]
    fn each_keeps_its_number_and_others_than_one_to_seven_are_ignored() {
        let mut further = FurtherPaces::default();
        for number in 0..=8 {
            further.set(number, Some(per_second(number as f64 + 1.0)));
        }
        further.set(3, None);
        let numbers: Vec<_> = further.iter().map(|(number, _)| number).collect();
        assert_eq!(numbers, [1, 2, 4, 5, 6, 7]);
        let rates = further.iter().map(|(_, pace)| pace.rate().round() as usize);
        assert_eq!(rates.collect::<Vec<_>>(), [2, 3, 5, 6, 7, 8]);
        assert_eq!(format!("{:?}", FurtherPaces::default()), "{}");
    }
}
