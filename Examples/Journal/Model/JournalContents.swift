internal import GRDB

/// Everything that the screen shows: all posts, and those that match the search.
public struct JournalContents: Equatable, Sendable {
    /// All posts, in the order of ``PostEntry/list(search:tag:_:)``.
    public var posts: [PostEntry]
    /// The posts that match; nil without a search.
    public var found: Set<String>?

    /// Makes contents.
    public init(posts: [PostEntry], found: Set<String>? = nil) {
        self.posts = posts
        self.found = found
    }

    /// Reads the contents.
    static func fetch(search: String, _ db: Database) throws -> JournalContents {
        let posts = try PostEntry.list(db)
        let found = search.isEmpty ? nil : Set(try PostEntry.list(search: search, db).map(\.id))
        return JournalContents(posts: posts, found: found)
    }

    /// The posts in the list.
    public var listed: [PostEntry] { found.map { found in posts.filter { found.contains($0.id) } } ?? posts }
}
