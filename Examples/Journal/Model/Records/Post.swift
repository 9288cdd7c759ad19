public import Foundation
public import GRDB
public import Ubiquity

/// A post, as GRDB keeps it.
public struct Post: Codable, Equatable, Sendable, FetchableRecord, PersistableRecord {
    /// The table's name.
    public static let databaseTableName = "post"

    /// A UUID.
    public var id: String
    /// One line.
    public var title: String
    /// The text, of any number of lines.
    public var body: String
    /// When the post was written.
    public var created: Date
    /// The place in the list of pinned posts, which people order; nil for a post that is not pinned.
    public var position: FractionalPosition?
}

/// A tag, which any number of posts have.
///
/// Its name is unique: two devices that write one name mean one tag, and the store makes their two records one.
public struct Tag: Codable, Equatable, Sendable, FetchableRecord, PersistableRecord {
    /// The table's name.
    public static let databaseTableName = "tag"

    /// A UUID.
    public var id: String
    /// The name, in the form of ``normalized(_:)``.
    public var name: String

    /// Returns the names that a person means: without blanks around them, in lower case, sorted, each once.
    public static func normalized(_ names: some Sequence<String>) -> [String] {
        let names = names.map { $0.trimmingCharacters(in: .whitespacesAndNewlines).lowercased() }
        return Set(names.filter { !$0.isEmpty }).sorted()
    }

    /// Returns the identifier of the tag with a name, and creates the tag if it is new.
    static func identifier(named name: String, _ db: Database) throws -> String {
        if let tag = try Tag.filter(Column("name") == name).fetchOne(db) { return tag.id }
        let tag = Tag(id: newIdentifier(), name: name)
        try tag.insert(db)
        return tag.id
    }
}

/// One tag of one post: the two references are the key.
struct PostTag: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "post_tag"

    var post: String
    var tag: String
}

/// Returns a key that no other device creates.
func newIdentifier() -> String { UUID().uuidString.lowercased() }
