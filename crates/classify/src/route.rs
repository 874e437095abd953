use http::Method;

/// Which requests: `Method::POST`, the path `"/search"` and all below it, or
/// `(Method::POST, "/search")`. Not to be implemented elsewhere.
pub trait Route: sealed::Route {}

impl<T: sealed::Route> Route for T {}

pub(crate) mod sealed {
    use super::{Matcher, Method};

    pub trait Route {
        fn matcher(self) -> Matcher;
    }

    impl Route for Method {
        fn matcher(self) -> Matcher {
            Matcher {
                method: Some(self),
                prefix: None,
            }
        }
    }

    impl Route for &str {
        #[track_caller]
        fn matcher(self) -> Matcher {
            assert!(self.starts_with('/'), "a path starts with /, not {self:?}");
            Matcher {
                method: None,
                prefix: Some(self.trim_end_matches('/').into()),
            }
        }
    }

    impl Route for (Method, &str) {
        #[track_caller]
        fn matcher(self) -> Matcher {
            Matcher {
                method: Some(self.0),
                ..self.1.matcher()
            }
        }
    }
}

/// Whether a request is one of a route.
#[derive(Clone, Debug)]
pub struct Matcher {
    method: Option<Method>,
    /// Without a slash at its end.
    prefix: Option<Box<str>>,
}

impl Matcher {
    pub(crate) fn matches(&self, method: &Method, path: &str) -> bool {
        self.method.as_ref().is_none_or(|own| own == method)
            && self.prefix.as_deref().is_none_or(|prefix| {
                path.strip_prefix(prefix)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::sealed::Route as _;
    use super::*;

    #[test]
    fn a_prefix_ends_at_a_slash() {
        let search = "/search".matcher();
        for (path, expected) in [
            ("/search", true),
            ("/search/", true),
            ("/search/users", true),
            ("/searching", false),
            ("/", false),
            ("", false),
        ] {
            assert_eq!(search.matches(&Method::GET, path), expected, "{path:?}");
        }
        assert!("/search/".matcher().matches(&Method::GET, "/search"));
        assert!("/".matcher().matches(&Method::GET, "/anything"));
    }

    #[test]
    fn a_method_and_a_path_must_both_match() {
        let route = (Method::POST, "/search").matcher();
        assert!(route.matches(&Method::POST, "/search"));
        assert!(!route.matches(&Method::GET, "/search"));
        assert!(!route.matches(&Method::POST, "/users"));
        assert!(Method::POST.matcher().matches(&Method::POST, "/users"));
    }
}
