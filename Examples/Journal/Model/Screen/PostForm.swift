/// The form in which a person edits a post, or writes a new one.
///
/// While the form is open another device can change the post. Fields that the person has not touched then show the new
/// values; for the others ``changedElsewhere`` says that there is a newer value, and a save replaces it. So the form
/// merges field by field, as the store merges column by column.
public struct PostForm: Equatable, Sendable {
    /// The fields, in the order of the Tab key.
    public static let fields: [PostContents.Field] = [.title, .body, .tags]

    /// The post's identifier; nil for a new post.
    public let post: String?
    /// The contents that the form began with, with what has arrived since.
    public private(set) var base: PostContents
    private var texts: [PostContents.Field: TextField]
    /// The field that takes the keys.
    public private(set) var focus = PostContents.Field.title
    /// The fields that both the person and another device have changed.
    public private(set) var changedElsewhere: Set<PostContents.Field> = []
    /// Whether the post is gone, because it was removed or another account is there; a save then creates a new one.
    public private(set) var isRemoved = false

    /// Opens a form; without a post for a new one.
    public init(_ post: PostEntry? = nil) {
        self.post = post?.id
        base = post?.contents ?? PostContents(title: "")
        texts = [:]
        for field in Self.fields { texts[field] = TextField(Self.text(of: field, in: base), isMultiline: field == .body) }
    }

    /// A field with its cursor.
    public subscript(field: PostContents.Field) -> TextField { texts[field] ?? TextField() }

    private static func text(of field: PostContents.Field, in contents: PostContents) -> String {
        switch field {
        case .title: contents.title
        case .body: contents.body
        case .tags: contents.tags.joined(separator: ", ")
        case .position: ""
        }
    }

    /// Takes a key for the field that has the focus.
    mutating func press(_ key: Key) {
        switch key {
        case .tab: moveFocus(1)
        case .backTab: moveFocus(-1)
        case .enter where focus != .body: moveFocus(1)
        default: texts[focus]?.press(key)
        }
    }

    private mutating func moveFocus(_ distance: Int) {
        let index = Self.fields.firstIndex(of: focus) ?? 0
        focus = Self.fields[(index + distance + Self.fields.count) % Self.fields.count]
    }

    /// Takes in the post as it is now; nil if it is gone.
    mutating func update(_ contents: PostContents?) {
        isRemoved = contents == nil && post != nil
        guard let contents else { return }
        for field in Self.fields {
            let old = Self.text(of: field, in: base)
            let new = Self.text(of: field, in: contents)
            guard new != old else { continue }
            let own = self[field].text
            if own == old || own == new {
                texts[field]?.replace(new)
                changedElsewhere.remove(field)
            } else {
                changedElsewhere.insert(field)
            }
        }
        base = contents
    }

    /// Returns the edit that saves the form; nil if there is nothing to save.
    public func edit() -> PostEdit? {
        var after = base
        after.title = self[.title].text
        after.body = self[.body].text
        after.tags = Tag.normalized(self[.tags].text.split(separator: ",").map(String.init))
        if let post, !isRemoved { return after == base ? nil : PostEdit(post: post, before: base, after: after) }
        return after.title.isEmpty && after.body.isEmpty ? nil : PostEdit(creating: after)
    }
}
