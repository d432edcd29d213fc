//! Random numbers that nobody can guess.

/// The operating system gave none.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gives no random numbers")]
pub struct NoChance;

/// 128 bits.
///
/// # Errors
/// The operating system gave none.
pub fn bits() -> Result<u128, NoChance> {
    let mut bytes = [0; 16];
    rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes).map_err(|_| NoChance)?;
    Ok(u128::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_two_are_alike() {
        let drawn: std::collections::HashSet<u128> = (0..1000).map(|_| super::bits().unwrap()).collect();
        assert_eq!(drawn.len(), 1000);
    }
}
