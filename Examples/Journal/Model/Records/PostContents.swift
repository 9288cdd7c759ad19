public import Foundation
public import GRDB
public import Ubiquity

/// The contents of a post: the values of its record, and the names of its tags.
public struct PostContents: Codable, Equatable, Sendable {
    /// A part that changes, and is undone, by itself.
    public enum Field: String, CaseIterable, Sendable {
        case title, body, tags, position
    }

    /// One line.
    public var title: String
    /// The text.
    public var body: String
    /// The names of the tags, in the form of ``Tag/normalized(_:)``.
    public var tags: [String]
    /// The place in the list of pinned posts.
    public var position: FractionalPosition?
    /// When the post was written; it never changes.
    public var created: Date

    /// Makes the contents of a post.
    public init(title: String, body: String = "", tags: [String] = [], position: FractionalPosition? = nil, created: Date = Date()) {
        self.title = title
        self.body = body
        self.tags = Tag.normalized(tags)
        self.position = position
        self.created = created
    }

    /// Returns the fields in which two contents differ, in the order of ``Field``.
    public func differences(from other: PostContents) -> [Field] {
        Field.allCases.filter { field in
            switch field {
            case .title: title != other.title
            case .body: body != other.body
            case .tags: tags != other.tags
            case .position: position != other.position
            }
        }
    }

    /// Takes the value of one field from other contents.
    mutating func take(_ field: Field, from other: PostContents) {
        switch field {
        case .title: title = other.title
        case .body: body = other.body
        case .tags: tags = other.tags
        case .position: position = other.position
        }
    }
}

extension PostContents {
    /// Reads the contents of a post; nil if there is no such post.
    public static func fetch(_ id: String, _ db: Database) throws -> PostContents? {
        guard let post = try Post.fetchOne(db, key: id) else { return nil }
        let tags = try String.fetchAll(
            db, sql: "SELECT tag.name FROM tag JOIN post_tag ON post_tag.tag = tag.id WHERE post_tag.post = ?", arguments: [id])
        return PostContents(title: post.title, body: post.body, tags: tags, position: post.position, created: post.created)
    }

    /// Writes the contents of a post, which is created if it is new.
    ///
    /// Columns and tags that keep their values are not written, so they merge with the writes of other devices.
    func write(to id: String, _ db: Database) throws {
        if var post = try Post.fetchOne(db, key: id) {
            try post.updateChanges(db) {
                $0.title = title
                $0.body = body
                $0.position = position
            }
        } else {
            try Post(id: id, title: title, body: body, created: created, position: position).insert(db)
        }
        let wanted = try Set(tags.map { try Tag.identifier(named: $0, db) })
        let present = try Set(PostTag.filter(Column("post") == id).fetchAll(db).map(\.tag))
        for tag in present.subtracting(wanted) { try PostTag.deleteOne(db, key: ["post": id, "tag": tag]) }
        for tag in wanted.subtracting(present) { try PostTag(post: id, tag: tag).insert(db) }
    }
}
