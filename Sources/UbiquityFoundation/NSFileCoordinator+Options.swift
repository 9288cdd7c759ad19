import FileCoordination

extension NSFileCoordinator {
    /// The options for reading an item.
    public struct ReadingOptions: OptionSet, Hashable, Sendable {
        /// The bits, as in Cocoa.
        public let rawValue: UInt

        /// Makes a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Presenters are not asked to save first.
        public static let withoutChanges = ReadingOptions(rawValue: 1 << 0)
        /// The accessor gets the URL of a symbolic link's destination.
        public static let resolvesSymbolicLink = ReadingOptions(rawValue: 1 << 1)
        /// Nothing is downloaded.
        public static let immediatelyAvailableMetadataOnly = ReadingOptions(rawValue: 1 << 2)
        /// The accessor gets a snapshot of the item; a directory becomes one zip file.
        public static let forUploading = ReadingOptions(rawValue: 1 << 3)

        var base: FileCoordinator.ReadingOptions { .init(rawValue: UInt32(rawValue & 0xF)) }
    }

    /// The options for writing an item; at most one may be given.
    public struct WritingOptions: OptionSet, Hashable, Sendable {
        /// The bits, as in Cocoa.
        public let rawValue: UInt

        /// Makes a set from its bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// The item will be deleted.
        public static let forDeleting = WritingOptions(rawValue: 1 << 0)
        /// The item will be moved or renamed.
        public static let forMoving = WritingOptions(rawValue: 1 << 1)
        /// The item's current content will be changed, so presenters are asked to save first.
        public static let forMerging = WritingOptions(rawValue: 1 << 2)
        /// Another item will replace this one.
        public static let forReplacing = WritingOptions(rawValue: 1 << 3)
        /// Only metadata that is independent of the item's content will be changed.
        public static let contentIndependentMetadataOnly = WritingOptions(rawValue: 1 << 4)

        var base: FileCoordinator.WritingOptions { .init(rawValue: UInt32(rawValue & 0x1F)) }
    }
}
