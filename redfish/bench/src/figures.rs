//! Medians and percentiles, and how they are written.

use std::time::Duration;

/// The value below which this share of all values lies; 0 for no values.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of an index is one")]
    let at = (share * last as f64).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

/// The value in the middle; 0 for no values.
pub fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// Times as numbers of seconds.
pub fn seconds(times: &[Duration]) -> Vec<f64> {
    times.iter().map(Duration::as_secs_f64).collect()
}

/// Median, least and most of several rounds.
pub fn spread(values: &[f64], unit: &str) -> String {
    let [least, middle, most] = [0.0, 0.5, 1.0].map(|share| percentile(values, share));
    format!("{middle:.2} {unit} ({least:.2} to {most:.2})")
}

/// How much longer the first took than the second, round by round: what slows the machine down for a while slows down
/// both rounds of a pair.
pub fn ratios(first: &[f64], second: &[f64]) -> Vec<f64> {
    first.iter().zip(second).map(|(first, second)| first / second).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_few_and_many() {
        assert_eq!(median(&[]).to_string(), "0");
        assert_eq!(median(&[7.0]).to_string(), "7");
        assert_eq!(median(&[9.0, 1.0, 5.0]).to_string(), "5");
        let hundred: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(percentile(&hundred, 0.99).to_string(), "99");
        assert_eq!(median(&ratios(&[2.0, 3.0, 40.0], &[1.0, 1.0, 20.0])).to_string(), "2");
        assert_eq!(spread(&[3.0, 1.0, 2.0], "s"), "2.00 s (1.00 to 3.00)");
    }
}
