/// What a document can do and needs at a moment; what `UIDocument.State` is on Apple's systems.
public struct DocumentState: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// The bits.
    public let rawValue: UInt8

    /// Makes a state from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// It is open, can be edited, and needs no attention.
    public static let normal: DocumentState = []
    /// It is not open.
    public static let closed = DocumentState(rawValue: 1 << 0)
    /// Other versions of it wait to be resolved; see ``Document/conflictVersions()``.
    public static let inConflict = DocumentState(rawValue: 1 << 1)
    /// The last attempt to save it failed, and its changes are in memory; see ``Document/savingError``.
    public static let savingError = DocumentState(rawValue: 1 << 2)
    /// It must not be edited now: somebody else writes it.
    public static let editingDisabled = DocumentState(rawValue: 1 << 3)

    /// The names of the bits, or `normal`.
    public var description: String {
        let names: [(DocumentState, String)] = [
            (.closed, "closed"), (.inConflict, "inConflict"), (.savingError, "savingError"), (.editingDisabled, "editingDisabled"),
        ]
        let set = names.filter { contains($0.0) }.map(\.1)
        return set.isEmpty ? "normal" : set.joined(separator: ", ")
    }
}
