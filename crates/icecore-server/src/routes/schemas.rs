//! JSON Schemas of the objects that HDF REST requests return, for `/openapi.json`.

use serde_json::{Value, json};

/// The schema of an operation's JSON reply.
pub(crate) fn reply(method: &str, path: &str) -> Value {
    let name = match (method, path) {
        ("get" | "put", "/") => "Domain",
        ("get", "/groups/{id}" | "/datasets/{id}" | "/datatypes/{id}")
        | ("post", "/groups" | "/datasets" | "/datatypes") => "Object",
        ("get", "/groups/{id}/links") => "Links",
        ("get", "/groups/{id}/links/{title}") => "LinkReply",
        ("get", "/datasets/{id}/type") => "TypeReply",
        ("get", "/datasets/{id}/shape") => "ShapeReply",
        ("get" | "post", "/datasets/{id}/value") | ("get", "/{collection}/{id}/attributes/{name}/value") => {
            "ValueReply"
        }
        ("get", "/{collection}/{id}/attributes") => "Attributes",
        ("get", "/{collection}/{id}/attributes/{name}") => "Attribute",
        _ => return json!({"type": "object", "additionalProperties": true}),
    };
    reference(name)
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({"type": "object", "required": required, "properties": properties})
}

/// All schemas, by name.
pub(crate) fn all() -> Value {
    let (text, number, any) = (json!({"type": "string"}), json!({"type": "number"}), json!({}));
    let integers = json!({"type": "array", "items": {"type": "integer"}});
    let map = |of: &str| json!({"type": "object", "additionalProperties": reference(of)});
    let list = |of: &str| json!({"type": "array", "items": reference(of)});
    json!({
        "Error": object(&["status", "kind", "message", "hint"],
            json!({"status": {"type": "integer"}, "kind": text, "message": text, "hint": text})),
        "Domain": object(&["root", "class"], json!({"root": text, "class": text, "owner": text, "created": number,
            "lastModified": number, "snapshot": text, "domain_objs": map("Object")})),
        "Object": object(&["id"], json!({"id": text, "root": text, "domain": text, "created": number,
            "lastModified": number, "attributeCount": {"type": "integer"}, "linkCount": {"type": "integer"},
            "attributes": map("Attribute"), "links": map("Link"), "shape": reference("Shape"), "type": reference("Type"),
            "layout": {"type": "object", "additionalProperties": true},
            "creationProperties": {"type": "object", "additionalProperties": true}})),
        "Type": object(&["class"], json!({"class": text, "base": {"anyOf": [text, reference("Type")]}, "length": any,
            "charSet": text, "strPad": text, "dims": integers, "mapping": {"type": "object", "additionalProperties": true},
            "fields": {"type": "array", "items": object(&["name", "type"], json!({"name": text, "type": reference("Type")}))},
            "id": text})),
        "Shape": object(&["class"], json!({"class": {"enum": ["H5S_SIMPLE", "H5S_SCALAR", "H5S_NULL"]}, "dims": integers,
            "maxdims": integers})),
        "Link": object(&["class"], json!({"class": text, "id": text, "collection": text, "title": text, "h5path": text,
            "h5domain": text, "file": text, "created": number})),
        "Links": object(&["links"], json!({"links": list("Link")})),
        "LinkReply": object(&["link"], json!({"link": reference("Link")})),
        "TypeReply": object(&["type"], json!({"type": reference("Type")})),
        "ShapeReply": object(&["shape"], json!({"shape": reference("Shape")})),
        "ValueReply": object(&["value"], json!({"value": any})),
        "Attribute": object(&[], json!({"name": text, "type": reference("Type"), "shape": reference("Shape"), "value": any,
            "created": number})),
        "Attributes": object(&["attributes"], json!({"attributes": list("Attribute")})),
    })
}
