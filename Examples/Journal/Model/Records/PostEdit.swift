internal import GRDB

/// A change of one post, as values from before and after it.
///
/// Every change of the app is such an edit, so that every change can be undone: the inverse of an edit is an edit.
public struct PostEdit: Equatable, Sendable {
    /// The post's identifier.
    public let post: String
    /// The contents that the edit replaces; nil if it creates the post.
    public let before: PostContents?
    /// The contents that the edit writes; nil if it removes the post.
    public let after: PostContents?
    /// The attachments of a post that the edit creates or removes.
    public let attachments: [Attachment]

    /// Makes an edit.
    public init(post: String, before: PostContents?, after: PostContents?, attachments: [Attachment] = []) {
        self.post = post
        self.before = before
        self.after = after
        self.attachments = attachments
    }

    /// Makes an edit that creates a post.
    public init(creating contents: PostContents) { self.init(post: newIdentifier(), before: nil, after: contents) }

    /// The edit that restores the values from before.
    public var inverse: PostEdit { PostEdit(post: post, before: after, after: before, attachments: attachments) }
}

/// The result of an edit.
public enum EditOutcome: Equatable, Sendable {
    /// The edit is saved.
    case done
    /// Nothing is written: another device has changed these fields since.
    case changed([PostContents.Field])
    /// Nothing is written: another device has removed the post.
    case removed
    /// Nothing is written: the post that the edit creates is there already.
    case exists
    /// Nothing is written: the post that the edit removes has other attachments by now.
    case attached

    /// A sentence for a refusal; nil for a saved edit.
    public var refusal: String? {
        switch self {
        case .done: nil
        case .changed(let fields): "Another device has changed the \(fields.map(\.rawValue).joined(separator: ", ")) since; nothing is written."
        case .removed: "Another device has removed the post; nothing is written."
        case .exists: "The post is there already; nothing is written."
        case .attached: "The post has other attachments by now; nothing is written."
        }
    }
}

extension PostEdit {
    /// Writes the edit, if the post still has the values that the edit replaces.
    ///
    /// Only the fields that the edit changes count, and only they are written. A removal concerns all fields.
    func apply(_ db: Database) throws -> EditOutcome {
        let present = try PostContents.fetch(post, db)
        guard let before else {
            if present != nil { return .exists }
            try after?.write(to: post, db)
            for attachment in attachments { try attachment.insert(db) }
            return .done
        }
        guard var present else { return .removed }
        let changed = present.differences(from: before)
        guard let after else {
            guard changed.isEmpty else { return .changed(changed) }
            guard try Set(AttachmentEntry.list(of: post, db).map(\.id)) == Set(attachments.map(\.id)) else { return .attached }
            try Post.deleteOne(db, key: post)
            return .done
        }
        let own = after.differences(from: before)
        let lost = changed.filter(own.contains)
        guard lost.isEmpty else { return .changed(lost) }
        for field in own { present.take(field, from: after) }
        try present.write(to: post, db)
        return .done
    }
}
