internal import GRDB
internal import Ubiquity

extension Journal {
    /// Pins a post at the end of the ordered list, or unpins it.
    ///
    /// - Returns: the edit; nil if there is no such post, or it is as wanted.
    /// - Throws: GRDB's errors.
    public func setPinned(_ isPinned: Bool, _ id: String) async throws -> PostEdit? {
        try await store.write { db in
            guard let before = try PostContents.fetch(id, db), (before.position != nil) != isPinned else { return nil }
            return try Self.place(id, before, at: isPinned ? Int.max : nil, db)
        }
    }

    /// Moves a pinned post by a number of places, towards the beginning if the number is negative.
    ///
    /// - Returns: the edit; nil if there is no such post, it is not pinned, or it stays where it is.
    /// - Throws: GRDB's errors.
    public func move(_ id: String, by distance: Int) async throws -> PostEdit? {
        try await store.write { db in
            let pinned = try Self.pinned(db)
            guard let index = pinned.firstIndex(where: { $0.id == id }), let before = try PostContents.fetch(id, db) else { return nil }
            let place = index + min(max(distance, -index), pinned.count - 1 - index)
            return place == index ? nil : try Self.place(id, before, at: place, db)
        }
    }

    private static func pinned(_ db: Database) throws -> [Post] {
        try Post.filter(Column("position") != nil).order(Column("position"), Column("id")).fetchAll(db)
    }

    /// Gives a post a place among the other pinned posts: one column of one record.
    ///
    /// Nil unpins it.
    private static func place(_ id: String, _ before: PostContents, at place: Int?, _ db: Database) throws -> PostEdit {
        var after = before
        after.position = try place.map { try position(at: $0, among: try pinned(db).filter { $0.id != id }, db) }
        let edit = PostEdit(post: id, before: before, after: after)
        _ = try edit.apply(db)
        return edit
    }

    /// Returns a position between two posts.
    ///
    /// Other positions change only if two devices have chosen equal ones, or if positions have grown long.
    private static func position(at place: Int, among posts: [Post], _ db: Database) throws -> FractionalPosition {
        var posts = posts
        for (index, position) in FractionalPosition.respacing(posts.compactMap(\.position)) {
            posts[index].position = position
            try posts[index].update(db, columns: ["position"])
        }
        let place = min(place, posts.count)
        let lower = place > 0 ? posts[place - 1].position : nil
        let upper = place < posts.count ? posts[place].position : nil
        guard let position = FractionalPosition.between(lower, upper) else {
            preconditionFailure("no place between \(lower as Any) and \(upper as Any), although the list is respaced")
        }
        return position
    }
}
