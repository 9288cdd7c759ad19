public import GRDB

/// A post as lists and screens show it: with its tags, and with its attachments but for their data.
public struct PostEntry: Codable, Equatable, Sendable, Identifiable {
    /// The post's identifier.
    public var id: String
    /// The title, the text and the tags.
    public var contents: PostContents
    /// The attachments, by name.
    public var attachments: [AttachmentEntry]

    /// Makes an entry.
    public init(id: String, contents: PostContents, attachments: [AttachmentEntry] = []) {
        self.id = id
        self.contents = contents
        self.attachments = attachments
    }

    /// Whether the post is in the ordered list of pinned posts.
    public var isPinned: Bool { contents.position != nil }
}

extension PostEntry {
    /// Reads posts: first the pinned ones in their order, then the others, the newest first.
    ///
    /// - Parameters:
    ///   - search: words that the posts contain in title or body, or begin; nil or empty for all posts.
    ///   - tag: the name of a tag that the posts have; nil for all posts.
    ///   - db: a connection of the store.
    /// - Returns: the posts.
    /// - Throws: GRDB's errors.
    public static func list(search: String? = nil, tag: String? = nil, _ db: Database) throws -> [PostEntry] {
        var posts = Post.order(sql: "position IS NULL, position, created DESC, id")
        if let pattern = search.flatMap({ FTS5Pattern(matchingAllPrefixesIn: $0) }) {
            posts = posts.filter(sql: "rowid IN (SELECT rowid FROM post_search WHERE post_search MATCH ?)", arguments: [pattern])
        }
        if let tag {
            posts = posts.filter(
                sql: "id IN (SELECT post FROM post_tag JOIN tag ON tag.id = post_tag.tag WHERE tag.name = ?)",
                arguments: [Tag.normalized([tag]).first])
        }
        let tags = try Row.fetchAll(db, sql: "SELECT post_tag.post AS post, tag.name AS name FROM post_tag JOIN tag ON tag.id = post_tag.tag")
        let names = Dictionary(grouping: tags) { $0["post"] as String }.mapValues { $0.map { $0["name"] as String } }
        let attachments = Dictionary(grouping: try AttachmentEntry.list(db), by: \.post)
        return try posts.fetchAll(db).map { post in
            PostEntry(
                id: post.id,
                contents: PostContents(
                    title: post.title, body: post.body, tags: names[post.id] ?? [], position: post.position, created: post.created),
                attachments: attachments[post.id] ?? [])
        }
    }
}
