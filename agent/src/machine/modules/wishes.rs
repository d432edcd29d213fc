//! What modules would like to be loaded before them (`modules.softdep`): drivers of network cards name those of their PHYs
//! there, and find no card without them.

use std::collections::HashMap;

use super::normal;

/// What each module would like, by names of modules. `aliases` is the table of aliases, as some are wished for by one.
#[must_use]
pub fn wishes(soft: &str, aliases: &str) -> HashMap<String, Vec<String>> {
    let mut wishes: HashMap<String, Vec<String>> = HashMap::new();
    for (module, wanted) in soft.lines().filter_map(before) {
        let wanted = wanted.into_iter().flat_map(|name| called(name, aliases));
        wishes.entry(normal(module)).or_default().extend(wanted);
    }
    wishes
}

/// A module, and what it wants before it.
fn before(line: &str) -> Option<(&str, Vec<&str>)> {
    let (module, wanted) = line.strip_prefix("softdep ")?.trim_start().split_once(char::is_whitespace)?;
    let wanted = wanted.split_ascii_whitespace().skip_while(|word| *word != "pre:").skip(1);
    Some((module, wanted.take_while(|word| *word != "post:").filter(|word| *word != "pre:").collect()))
}

/// The modules that a name may mean: the one of this name, or those with an alias that is exactly this.
fn called(name: &str, aliases: &str) -> Vec<String> {
    let aliased = aliases.lines().filter_map(|line| {
        let (alias, module) = line.strip_prefix("alias ")?.split_once(' ')?;
        (alias == name).then(|| normal(module))
    });
    std::iter::once(normal(name)).chain(aliased).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_before_is_wished_for() {
        let aliases = "alias crc32c crc32c_generic\nalias crc32c crc32c-intel\nalias pci:v1d* r8169\n";
        let soft = "# Soft dependencies extracted from modules themselves.\n\
            softdep r8169 pre: realtek\n\
            softdep libcrc32c pre: crc32c\n\
            softdep mlx4_core post: mlx4_en\n\
            softdep a-b pre: c post: d pre: e\n\
            softdep lonely\n";
        let found = wishes(soft, aliases);
        for (module, expected) in [
            ("r8169", vec!["realtek"]),
            ("libcrc32c", vec!["crc32c", "crc32c_generic", "crc32c_intel"]),
            ("mlx4_core", vec![]),
            ("a_b", vec!["c"]),
        ] {
            assert_eq!(
                found.get(module),
                Some(&expected.into_iter().map(str::to_owned).collect()),
                "{module}"
            );
        }
        assert_eq!(found.len(), 4);
    }
}
