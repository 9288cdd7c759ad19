public import Foundation
public import GRDB

/// A file that belongs to a post.
///
/// The store publishes data above `largeValueSize`, by default 1 MiB, in a file of its own. The thumbnail is a small
/// value in the log, and each list shows it without reading the data.
public struct Attachment: Codable, Equatable, Sendable, FetchableRecord, PersistableRecord {
    /// The table's name.
    public static let databaseTableName = "attachment"

    /// A UUID.
    public var id: String
    /// The post's identifier.
    public var post: String
    /// The file's name.
    public var name: String
    /// The file's bytes.
    public var data: Data
    /// Some lines that show what the data looks like.
    public var thumbnail: String

    /// Makes an attachment with the thumbnail of its data.
    public init(post: String, name: String, data: Data) {
        id = newIdentifier()
        self.post = post
        self.name = name
        self.data = data
        thumbnail = Thumbnail.text(of: data, named: name)
    }
}

/// An attachment without its data, for lists.
public struct AttachmentEntry: Codable, Equatable, Sendable, FetchableRecord {
    /// The attachment's identifier.
    public var id: String
    /// The post's identifier.
    public var post: String
    /// The file's name.
    public var name: String
    /// The number of bytes.
    public var size: Int
    /// Some lines that show what the data looks like.
    public var thumbnail: String

    /// Makes an entry.
    public init(id: String, post: String, name: String, size: Int, thumbnail: String) {
        self.id = id
        self.post = post
        self.name = name
        self.size = size
        self.thumbnail = thumbnail
    }

    /// Reads the attachments of all posts, or of one, by name.
    static func list(of post: String? = nil, _ db: Database) throws -> [AttachmentEntry] {
        try fetchAll(
            db,
            sql: """
                SELECT id, post, name, length(data) AS size, thumbnail FROM attachment
                WHERE post = coalesce(?, post) ORDER BY name, id
                """, arguments: [post])
    }
}
