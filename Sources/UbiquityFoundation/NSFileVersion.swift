import FileCoordination
public import Foundation
import Logging
import TreeWatching
import UbiquityContainers

/// One version of a file's content: the current one, or one that lost a conflict or was kept; Cocoa's class over `FileVersion`.
///
/// The calls block their thread. Inside a coordinated accessor they belong to it, so they do not wait for it. Objects for one version of
/// one item are equal.
public final class NSFileVersion: NSObject, @unchecked Sendable {
    // A constant value.
    let base: FileVersion

    init(_ base: FileVersion) { self.base = base }

    /// The options for adding a version.
    public struct AddingOptions: OptionSet, Hashable, Sendable {
        /// The bits, as in Cocoa.
        public let rawValue: UInt
        /// Makes a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }
        /// Moves the content instead of copying it.
        public static let byMoving = AddingOptions(rawValue: 1 << 0)
    }

    /// The options for replacing an item.
    public struct ReplacingOptions: OptionSet, Hashable, Sendable {
        /// The bits, as in Cocoa.
        public let rawValue: UInt
        /// Makes a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }
        /// Moves the version itself, which then is no version any more.
        public static let byMoving = ReplacingOptions(rawValue: 1 << 0)
    }

    // MARK: Lookups

    /// Returns the current version of an item.
    ///
    /// - Parameter url: the item.
    /// - Returns: nil if there is no item, or it cannot be looked up.
    public class func currentVersionOfItem(at url: URL) -> NSFileVersion? {
        look(url) { try await FileVersion.currentVersion(ofItemAt: url) }.map { NSFileVersion($0) }
    }

    /// Returns the versions other than the current one, newest first.
    ///
    /// - Parameter url: the item.
    /// - Returns: nil if there is no item, or it cannot be looked up.
    public class func otherVersionsOfItem(at url: URL) -> [NSFileVersion]? {
        look(url) { try await FileVersion.otherVersions(ofItemAt: url) }.map { $0.map { NSFileVersion($0) } }
    }

    /// Returns the versions with an unresolved conflict, newest first.
    ///
    /// - Parameter url: the item.
    /// - Returns: an empty array if there are none; nil if there is no item, or it cannot be looked up.
    public class func unresolvedConflictVersionsOfItem(at url: URL) -> [NSFileVersion]? {
        look(url) { try await FileVersion.unresolvedConflictVersions(ofItemAt: url) }.map { $0.map { NSFileVersion($0) } }
    }

    /// Returns the version with an identifier.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - persistentIdentifier: an earlier ``persistentIdentifier``.
    /// - Returns: nil if the item does not have the version any more.
    public class func version(itemAt url: URL, forPersistentIdentifier persistentIdentifier: Any) -> NSFileVersion? {
        let text = (persistentIdentifier as? String) ?? (persistentIdentifier as? NSString).map { "\($0)" }
        guard let identifier = text.map({ FileVersionIdentifier(rawValue: $0) }) else { return nil }
        return look(url) { try await FileVersion.version(ofItemAt: url, forPersistentIdentifier: identifier) }.map { NSFileVersion($0) }
    }

    private class func look<Value>(_ url: URL, _ body: () async throws -> Value?) -> Value? {
        do {
            return try blockingCaller(body)
        } catch {
            Logger.ubiquity.warning("The versions of \(url.path) cannot be looked up: \(error)")
            return nil
        }
    }

    // MARK: Facts

    /// The URL of the version's content; read it under coordination.
    public var url: URL { base.url }
    /// The name of the item.
    public var localizedName: String? { base.localizedName }
    /// The device that wrote it, if that is known.
    public var localizedNameOfSavingComputer: String? { base.nameOfSavingComputer }
    /// The time of the last change of its content.
    public var modificationDate: Date? { base.modificationDate }
    /// Finds the version again: a string, which can be stored in a property list.
    public var persistentIdentifier: Any { base.persistentIdentifier.rawValue }
    /// Whether the version lost a conflict, resolved or not.
    public var isConflict: Bool { base.isConflict }
    /// Whether the content is on this device.
    public var hasLocalContents: Bool { base.hasLocalContents }
    /// Whether there is a thumbnail; there is none.
    public var hasThumbnail: Bool { false }

    /// Whether the system may delete the version; it never does, so setting this has no effect.
    public var isDiscardable: Bool {
        get { false }
        set {}
    }

    /// Whether the version needs no attention; set it to true when the conflict is resolved.
    ///
    /// A conflict cannot be made unresolved: false on a version in conflict is a programming error. If the mark cannot be written, the
    /// reason is logged, and the value stays false.
    public var isResolved: Bool {
        get { base.isResolved }
        set {
            precondition(newValue || !isConflict, "The conflict of \(url.path) cannot be made unresolved")
            do {
                try blockingCaller { try await base.setResolved(newValue) }
            } catch {
                Logger.ubiquity.error("The conflict of \(url.path) stays unresolved: \(error)")
            }
        }
    }

    // MARK: Changes

    /// Keeps a copy of some content as a version of an item, on this device.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - contentsURL: the content to keep, such as the item.
    ///   - options: `byMoving` moves the content instead of copying it.
    /// - Returns: the version.
    /// - Throws: an error in Cocoa's domains; nothing is kept then.
    public class func addOfItem(at url: URL, withContentsOf contentsURL: URL, options: AddingOptions = []) throws -> NSFileVersion {
        try cocoaCall(.writing) {
            NSFileVersion(
                try await FileVersion.addVersion(
                    ofItemAt: url, withContentsOf: contentsURL, byMoving: options.contains(.byMoving)))
        }
    }

    /// Replaces an item with the version's content, in one step of a coordinated write.
    ///
    /// - Parameters:
    ///   - url: the item to replace.
    ///   - options: `byMoving` moves the version instead of copying it.
    /// - Returns: the item's current URL.
    /// - Throws: an error in Cocoa's domains; nothing has changed then.
    @discardableResult
    public func replaceItem(at url: URL, options: ReplacingOptions = []) throws -> URL {
        try cocoaCall(.writing) {
            try await base.replaceItem(at: url, options: options.contains(.byMoving) ? .byMoving : [])
        }
    }

    /// Removes the version, in a coordinated write.
    ///
    /// - Throws: an error in Cocoa's domains, also for the current version; the version still exists then.
    public func remove() throws {
        try cocoaCall(.writing) { try await base.remove() }
    }

    /// Removes all versions except the current one, in coordinated writes.
    ///
    /// - Parameter url: the item; if there is none, the call does nothing.
    /// - Throws: an error in Cocoa's domains; some versions are removed then.
    public class func removeOtherVersionsOfItem(at url: URL) throws {
        try cocoaCall(.writing) { try await FileVersion.removeOtherVersions(ofItemAt: url) }
    }

    // MARK: Equality

    /// Returns whether another object is the same version of the same item.
    ///
    /// - Parameter object: any object.
    /// - Returns: whether they are equal.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSFileVersion else { return false }
        return other.base.itemURL == base.itemURL && other.base.persistentIdentifier == base.persistentIdentifier
    }

    /// A value that is equal for equal versions.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(base.itemURL)
        hasher.combine(base.persistentIdentifier)
        return hasher.finalize()
    }
}
