use std::fmt::Write;

use tidegate_testkit::Response;

/// What a site of so many pages answers.
///
/// Page `n` links to `2n + 1` and `2n + 2`, so that all are found from the first. Each fifth page also
/// links to one that has moved to the next site.
pub(crate) fn respond(path: &str, pages: u32, next_site: &impl Fn() -> String) -> Response {
    let number = |text: &str| text.parse().ok().filter(|&page: &u32| page < pages);
    if let Some(page) = path.strip_prefix("/moved/").and_then(number) {
        return Response::redirect(302, &format!("http://{}/page/{page}", next_site()));
    }
    let Some(page) = path.strip_prefix("/page/").and_then(number) else {
        return Response::new(404);
    };
    let mut body = String::from("<html>");
    for link in [2 * page + 1, 2 * page + 2] {
        if link < pages {
            write!(body, "<a href=\"/page/{link}\">{link}</a>").expect("a string takes it");
        }
    }
    if page % 5 == 0 {
        write!(body, "<a href=\"/moved/{page}\">moved</a>").expect("a string takes it");
    }
    Response::new(200).body(body)
}
