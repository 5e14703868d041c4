//! Paths with verbs: `/message:send`, `/tasks/{id}:cancel`.
//!
//! poem-openapi and poem's router read every `:` as the beginning of a parameter. An API here declares a verb as its own last segment,
//! marked with `@`: `/tasks/:id/@cancel`. This table reads the declarations off the API (or rows in the same notation) and matches
//! paths against them; `document.rs` writes the outward form. Nothing else knows of the mark.

use std::collections::HashMap;

use poem::Response;
use poem::endpoint::BoxEndpoint;
use poem::http::Method;
use poem_openapi::OpenApi;

/// What a verb's segment begins with in a declaration.
pub(crate) const MARK: &str = "/@";

/// What the document's name of an operation ends in where the operation has a second method: there a name is given once only.
const SECOND: &str = "ByPost";

/// The longest path of any API, in segments.
const DEEPEST: usize = 8;

/// The paths of an API, and what each of their methods leads to.
pub(crate) struct Table<T> {
    paths: Vec<Declared<T>>,
}

struct Declared<T> {
    segments: Vec<Segment>,
    verb: Option<String>,
    operations: Vec<Operation<T>>,
}

enum Segment {
    Literal(String),
    Parameter,
}

/// What one method of one path does.
pub(crate) struct Operation<T> {
    method: Method,
    /// Its name in the protocol.
    pub(crate) id: &'static str,
    pub(crate) to: T,
}

/// What a path and a method lead to.
pub(crate) enum Found<'t, 'p, T> {
    /// An operation, and the values in the path as they stand there.
    Operation(&'t Operation<T>, Vec<&'p str>),
    /// The path exists; these are its methods.
    OtherMethods(String),
    /// No such path.
    Nothing,
}

/// What poem-openapi makes of a handler.
pub(crate) type Handler = BoxEndpoint<'static, Response>;

impl Table<Handler> {
    /// The paths of `api`.
    pub(crate) fn of<A: OpenApi>(api: A) -> Table<Handler> {
        let mut ids: HashMap<(String, Method), &'static str> = HashMap::new();
        for path in A::meta().into_iter().flat_map(|api| api.paths) {
            for operation in path.operations {
                let name = operation.operation_id.unwrap_or_default();
                ids.insert((shape(&path.path), operation.method), name.strip_suffix(SECOND).unwrap_or(name));
            }
        }
        let mut routes = HashMap::new();
        api.add_routes(&mut routes);
        let mut paths = Vec::new();
        for (path, methods) in routes {
            let operations = methods.into_iter().map(|(method, to)| {
                let id = ids.get(&(shape(&path), method.clone())).copied().unwrap_or_default();
                Operation { method, id, to }
            });
            paths.push(Declared::new(&path, operations.collect()));
        }
        Table::sorted(paths)
    }
}

impl<T> Table<T> {
    /// The paths of these rows: a method, a path, the operation's name, what it leads to. Rows of one path stand together.
    pub(crate) fn of_rows(rows: impl IntoIterator<Item = (Method, &'static str, &'static str, T)>) -> Table<T> {
        let mut paths: Vec<(&str, Vec<Operation<T>>)> = Vec::new();
        for (method, path, id, to) in rows {
            let operation = Operation { method, id, to };
            match paths.last_mut() {
                Some((last, operations)) if *last == path => operations.push(operation),
                _ => paths.push((path, vec![operation])),
            }
        }
        Table::sorted(paths.into_iter().map(|(path, operations)| Declared::new(path, operations)).collect())
    }

    fn sorted(mut paths: Vec<Declared<T>>) -> Table<T> {
        // A verb is looked for before an id that looks like one; literals before parameters.
        paths.sort_by_key(|path| (path.verb.is_none(), path.parameters()));
        for path in &mut paths {
            path.operations.sort_by_key(|operation| operation.method.to_string());
        }
        Table { paths }
    }

    /// Whether some path begins with this segment, verb left out.
    pub(crate) fn begins_with(&self, segment: &str) -> bool {
        let segment = segment.split(':').next().unwrap_or_default();
        self.paths.iter().any(|path| matches!(path.segments.first(), Some(Segment::Literal(text)) if text == segment))
    }

    /// What `method` of `path` is.
    pub(crate) fn find<'p>(&self, method: &Method, path: &'p str) -> Found<'_, 'p, T> {
        let mut segments = [""; DEEPEST];
        let mut count = 0;
        for segment in path.strip_prefix('/').unwrap_or(path).split('/') {
            if count == DEEPEST {
                return Found::Nothing;
            }
            segments[count] = segment;
            count += 1;
        }
        let segments = &segments[..count];
        let Some((declared, values)) =
            self.paths.iter().find_map(|declared| Some((declared, declared.values(segments)?)))
        else {
            return Found::Nothing;
        };
        match declared.operations.iter().find(|operation| operation.method == *method) {
            Some(operation) => Found::Operation(operation, values),
            None => Found::OtherMethods(declared.methods()),
        }
    }
}

/// `/tasks/:param0` and `/tasks/{id}` are one path.
fn shape(path: &str) -> String {
    let shaped = path.split('/').map(|part| if is_parameter(part) { "{}" } else { part });
    shaped.collect::<Vec<_>>().join("/")
}

fn is_parameter(part: &str) -> bool {
    part.starts_with([':', '{'])
}

impl<T> Declared<T> {
    fn new(path: &str, operations: Vec<Operation<T>>) -> Declared<T> {
        let (plain, verb) = match path.split_once(MARK) {
            Some((plain, verb)) => (plain, Some(verb.to_owned())),
            None => (path, None),
        };
        let segment = |part: &str| match is_parameter(part) {
            true => Segment::Parameter,
            false => Segment::Literal(part.to_owned()),
        };
        let segments = plain.trim_start_matches('/').split('/').map(segment).collect();
        Declared { segments, verb, operations }
    }

    fn parameters(&self) -> usize {
        self.segments.iter().filter(|segment| matches!(segment, Segment::Parameter)).count()
    }

    /// The values of the path's parameters, if it is this one.
    fn values<'p>(&self, segments: &[&'p str]) -> Option<Vec<&'p str>> {
        if segments.len() != self.segments.len() {
            return None;
        }
        let mut values = Vec::new();
        let last = segments.len() - 1;
        for (index, (declared, &segment)) in self.segments.iter().zip(segments).enumerate() {
            let text = match &self.verb {
                Some(verb) if index == last => segment.strip_suffix(verb.as_str())?.strip_suffix(':')?,
                _ => segment,
            };
            match declared {
                Segment::Literal(literal) if literal != text => return None,
                Segment::Literal(_) => {}
                Segment::Parameter if text.is_empty() => return None,
                Segment::Parameter => values.push(text),
            }
        }
        Some(values)
    }

    fn methods(&self) -> String {
        self.operations.iter().map(|operation| operation.method.as_str()).collect::<Vec<_>>().join(", ")
    }
}
