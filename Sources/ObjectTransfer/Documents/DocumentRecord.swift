package import ContentHashing
internal import Foundation

/// What a device knows of one document: here, in the cloud, and on the way.
package struct DocumentRecord: Hashable, Sendable, Codable {
    /// What stands for the document on this device.
    package struct Local: Hashable, Sendable, Codable {
        /// How a document is here.
        package enum Form: Hashable, Sendable, Codable {
            /// With its bytes, as the file system describes them.
            case item(DocumentStamp)
            /// By a placeholder.
            case placeholder
        }

        package var form: Form
        /// The content that it has, or of which it is the placeholder.
        package var content: DocumentContent
        /// The edits that it contains; an edit here is not among them before its version exists.
        package var base: VersionVector
        /// Whether it has been changed here since it was like a version.
        package var isEdited: Bool
        /// Whether the edit is the choice of a version that had lost a conflict, whose bytes it has.
        package var isChosen = false

        package init(form: Form, content: DocumentContent, base: VersionVector, isEdited: Bool) {
            (self.form, self.content, self.base, self.isEdited) = (form, content, base, isEdited)
        }
    }

    /// The versions of which none contains another, as bulletins state them or will; more than one are in conflict.
    package var versions: [DocumentVersion] = []
    package var local: Local?
    /// Whether what stands for it is still there; false after it has vanished.
    package var isHere = false
    /// Whether it was missing in two looks at the device, between which nothing else of the container vanished.
    package var isMissed = false
    /// Whether it is known that nothing was here, so that whatever appears under its name has been written by somebody.
    package var isAbsent = false
    /// Whether the container was wiped when it was absent, so that what comes back can be old.
    package var mayBeOld = false
    /// The content of the placeholder or package that was removed here; its bytes can still be in the cloud.
    package var former: DocumentContent?
    /// Whether somebody has asked for its bytes.
    package var isWanted = false
    /// Whether somebody has evicted it, so that it is not fetched by the policy alone.
    package var isEvicted = false
    /// The version whose upload has begun and not ended; its content is the one that is here.
    package var intent: DocumentVersion?
    /// The pieces that the cloud has taken for versions that are not uploaded yet.
    package var sent: Set<ContentHash> = []
    /// The version that the next bulletin states, which is among ``versions`` already: an edit that follows contains it.
    package var untold: DocumentVersion?
    /// The identifier under which that version counts its own edit.
    package var line: TransferDevice?
    /// The pieces of versions that it supersedes; they are doomed once it is stated.
    package var dooming: Set<ContentHash> = []
    /// A file beside the document that holds a version which lost a conflict.
    package struct Copy: Hashable, Sendable, Codable {
        /// The edits of the version.
        package var vector: VersionVector
        /// The hash of its content.
        package var hash: ContentHash

        package init(_ version: DocumentVersion) { (vector, hash) = (version.vector, version.content!.hash) }
    }

    /// The conflict copies beside the document, by name.
    package var copies: [String: Copy] = [:]
    /// The conflict copies of which somebody has said that they are resolved, or which are gone.
    package var resolved: Set<String> = []

    package init() {}

    /// Whether nothing is known of the document any more.
    var isEmpty: Bool { versions.isEmpty && local == nil && intent == nil && untold == nil && copies.isEmpty }

    /// The versions that are no removals.
    package var live: [DocumentVersion] { versions.filter { $0.content != nil } }

    /// The version that is shown under the document's name; nil if it was removed or never stated.
    package var shown: DocumentVersion? { live.max { $1.isPreferred(to: $0) } }

    /// The versions that lost a conflict, without those that have the same bytes as another one.
    package var lost: [DocumentVersion] {
        guard let shown, let content = shown.content else { return [] }
        var contents = [content]
        var lost: [DocumentVersion] = []
        for version in live.sorted(by: { $0.isPreferred(to: $1) }) where version != shown {
            guard let own = version.content, !contents.contains(where: { $0.isSame(as: own) }) else { continue }
            contents.append(own)
            lost.append(version)
        }
        return lost
    }

    /// Whether the bytes are here.
    package var isItemHere: Bool {
        guard isHere, case .item? = local?.form else { return false }
        return true
    }

    /// Whether somebody has moved a placeholder here that no version of this document has; its bytes are in the cloud alone.
    package var isMovedPlaceholder: Bool {
        guard isHere, local?.isEdited == true, case .placeholder? = local?.form else { return false }
        return true
    }

    /// Whether the bytes that are here are those that every device shows.
    package var isCurrent: Bool {
        guard isItemHere, let local, !local.isEdited, let content = shown?.content else { return false }
        return local.content.isSame(as: content)
    }

    /// Whether a content that is here without a record is an old version.
    ///
    /// An empty file never is: many documents begin as one.
    func isOld(_ content: DocumentContent) -> Bool { content.size > 0 && hasReplaced(content.hash.description) }

    /// Edits that contain no version which another one equals in its edits and not in its bytes.
    ///
    /// Two homes with one identifier have made them. An edit of one of them contains neither, so that the other one is not lost.
    func withoutTwins(_ base: VersionVector) -> VersionVector {
        var own = base
        for version in live where live.contains(where: { $0 != version && $0.vector == version.vector }) {
            if own.counts[version.device] == version.vector.counts[version.device] { own = own.without(lastOf: version.device) }
        }
        return own
    }

    /// Whether some version has replaced the content with a hash.
    func hasReplaced(_ hash: String) -> Bool { versions.contains { $0.replaced.contains { $0.description == hash } } }

    /// The edits of all versions.
    var all: VersionVector { versions.reduce(VersionVector()) { $0.joined($1.vector) } }

    /// The contents that a new version replaces, the newest first.
    func replaced(_ base: VersionVector, by content: DocumentContent?) -> [ContentHash] {
        let known = versions.filter { base.contains($0.vector) }
        var hashes: [ContentHash] = []
        for hash in known.compactMap({ $0.content?.hash }) + known.flatMap(\.replaced) where hash != content?.hash && !hashes.contains(hash) {
            hashes.append(hash)
        }
        return Array(hashes.prefix(DocumentVersion.mostReplaced))
    }

    /// Returns the edits of a new version of a device that contains these.
    ///
    /// A device's count says that all its edits up to it are contained. An edit that does not contain a former one of the same
    /// device, such as one that lost a conflict, therefore begins a line of edits under an identifier of its own.
    func next(_ base: VersionVector, by device: TransferDevice) -> VersionVector {
        let used = versions.map { $0.vector.counts[device] ?? 0 }.max() ?? 0
        guard used > base.counts[device] ?? 0 else { return base.advanced(by: device) }
        // All that is known makes it unlike the identifier of any line before it.
        let known = [base, all].flatMap { $0.counts.sorted { $0.key < $1.key } }.map { "\($0.key) \($0.value)\n" }.joined()
        let bytes = ContentHash(of: Array("\(device)\n\(known)".utf8)).bytes
        return base.advanced(by: TransferDevice(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }))
    }
}

/// What the file system says of an item, by which a change of it is noticed without reading it.
package struct DocumentStamp: Hashable, Sendable, Codable {
    /// A hash of the inode, size, modification and change time of each file.
    package var value: UInt64

    package init(value: UInt64) { self.value = value }
}

/// What is done next for a document.
package enum DocumentStep: Hashable, Sendable {
    /// Send the content that is here, and state it as a version with these edits.
    case send(DocumentVersion)
    /// State that it was removed.
    case withdraw(DocumentVersion)
    /// Fetch a version in the place of what is here.
    case fetch(DocumentVersion)
    /// Write the placeholder of a version.
    case hold(DocumentVersion)
    /// Fetch a version that lost a conflict, beside the document.
    case fetchCopy(DocumentVersion)
    /// Remove the copy of a version that is in conflict no more.
    case dropCopy(String, DocumentRecord.Copy)
    /// Remove what is here, because it was removed elsewhere.
    case remove
}
