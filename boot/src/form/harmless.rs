//! Templates are their users', and are filled in here, where many others are served, too. So only what can't grow is
//! filled in: names, with a few filters, and conditions. No loops, no variables, no operators that join texts.

/// What a template may use, in the words of a refusal.
pub(super) const ALLOWED: &str =
    "only names, with lower, upper, trim or default('…'), and if, elif, else, endif can be filled in";

/// The line of the first thing in a template that is not allowed, if there is one.
pub(super) fn first_refused(template: &str) -> Option<usize> {
    let mut at = 0;
    while let Some((start, tag)) = next_tag(template, at) {
        let line = template.get(..start).unwrap_or_default().matches('\n').count() + 1;
        let Some(end) = template.get(start + 2..).and_then(|rest| rest.find(tag.end())) else {
            return Some(line);
        };
        let body = template.get(start + 2..start + 2 + end).unwrap_or_default();
        if !tag.allows(body.trim_start_matches(['-', '+']).trim_end_matches(['-', '+']).trim()) {
            return Some(line);
        }
        at = start + 2 + end + 2;
    }
    None
}

#[derive(Clone, Copy)]
enum Tag {
    Expression,
    Statement,
    Comment,
}

impl Tag {
    const fn end(self) -> &'static str {
        match self {
            Self::Expression => "}}",
            Self::Statement => "%}",
            Self::Comment => "#}",
        }
    }

    fn allows(self, body: &str) -> bool {
        match self {
            Self::Comment => true,
            Self::Expression => is_expression(body),
            Self::Statement => is_statement(body),
        }
    }
}

fn next_tag(template: &str, from: usize) -> Option<(usize, Tag)> {
    let rest = template.get(from..)?;
    let tags = [("{{", Tag::Expression), ("{%", Tag::Statement), ("{#", Tag::Comment)];
    tags.into_iter().filter_map(|(open, tag)| Some((from + rest.find(open)?, tag))).min_by_key(|(at, _)| *at)
}

fn is_expression(body: &str) -> bool {
    let mut parts = body.split('|').map(str::trim);
    parts.next().is_some_and(is_value) && parts.all(is_filter)
}

fn is_filter(text: &str) -> bool {
    let argument = || text.strip_prefix("default(")?.strip_suffix(')').map(str::trim);
    ["lower", "upper", "trim"].contains(&text) || argument().is_some_and(is_literal)
}

fn is_statement(body: &str) -> bool {
    let (word, condition) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
    let words = ["not", "and", "or", "is", "defined", "==", "!="];
    match word {
        "else" | "endif" => condition.is_empty(),
        "if" | "elif" => {
            let mut parts = condition.split_whitespace().peekable();
            parts.peek().is_some() && parts.all(|part| words.contains(&part) || is_value(part))
        }
        _ => false,
    }
}

fn is_value(text: &str) -> bool {
    let is_name =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '[' | ']');
    is_literal(text) || (!text.is_empty() && text.chars().all(is_name))
}

fn is_literal(text: &str) -> bool {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    ['\'', '"'].into_iter().filter_map(inside).any(|text| !text.contains(['\'', '"', '\\', '{', '}']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_filters_and_conditions_are_filled_in_and_nothing_that_grows() {
        for text in [
            "",
            "plain } } { {",
            "{{ ds.meta_data.local_hostname }}",
            "{{- v1.x | upper | trim -}}",
            "{{ a[0] }}",
            "{{ a | default('none of it') }}",
            "{% if a.b == 'x' and not c is defined %}y{% elif d %}{% else %}{% endif %}",
            "{# {{ a ~ a }} #}",
        ] {
            assert_eq!(first_refused(text), None, "{text}");
        }
        for (text, line) in [
            ("{% set a = 'x' %}", 1),
            ("one\n{% for a in b %}{% endfor %}", 2),
            ("one\ntwo\nthree {{ a ~ a }}", 3),
            ("{{ a * 9 }}", 1),
            ("{{ range(9) }}", 1),
            ("{{ a | tojson }}", 1),
            ("{{ a | default(b ~ b) }}", 1),
            ("{{ a.b() }}", 1),
            ("{% macro a() %}{% endmacro %}", 1),
            ("{% if %}{% endif %}", 1),
            ("{% if a ~ b %}{% endif %}", 1),
            ("{{ a", 1),
            ("{{ 'a' 'b' }}", 1),
            ("{{ {} }}", 1),
        ] {
            assert_eq!(first_refused(text), Some(line), "{text}");
        }
    }
}
