extension FileCoordinator {
    /// How an item is to be read; Cocoa's `NSFileCoordinator.ReadingOptions`.
    public struct ReadingOptions: OptionSet, Hashable, Sendable, Codable {
        /// The bits.
        public let rawValue: UInt32

        /// Makes a set from its bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Presenters are not asked to save first; they are still asked to relinquish the item to the reader.
        public static let withoutChanges = ReadingOptions(rawValue: 1 << 0)
        /// The accessor gets the URL of what a symbolic link leads to, and both are claimed.
        ///
        /// Not for preparations.
        public static let resolvesSymbolicLink = ReadingOptions(rawValue: 1 << 1)
        /// The accessor reads only what is on this device already; nothing is downloaded for it.
        public static let immediatelyAvailableMetadataOnly = ReadingOptions(rawValue: 1 << 2)
        /// The accessor gets a snapshot of the item, a directory as one stored zip file, and the claim ends once that is made.
        public static let forUploading = ReadingOptions(rawValue: 1 << 3)
    }

    /// How an item is to be written; Cocoa's `NSFileCoordinator.WritingOptions`.
    ///
    /// At most one option may be given.
    public struct WritingOptions: OptionSet, Hashable, Sendable, Codable {
        /// The bits.
        public let rawValue: UInt32

        /// Makes a set from its bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// The item will be deleted.
        public static let forDeleting = WritingOptions(rawValue: 1 << 0)
        /// The item will be moved or renamed.
        ///
        /// On a plain file this is the same as no option.
        public static let forMoving = WritingOptions(rawValue: 1 << 1)
        /// The item's present content will be read and changed, so presenters are asked to save first.
        public static let forMerging = WritingOptions(rawValue: 1 << 2)
        /// Another item will take this one's place.
        ///
        /// The claim is on the name: when the item moves away meanwhile, the claim stays.
        public static let forReplacing = WritingOptions(rawValue: 1 << 3)
        /// Only metadata that does not depend on the item's content will be changed.
        public static let contentIndependentMetadataOnly = WritingOptions(rawValue: 1 << 4)

        /// The options that concern the place of an item, and with it everything below a directory (C-06).
        static let structural: WritingOptions = [.forDeleting, .forMoving, .forReplacing]
        /// The options after which the item as it was is gone (C-22).
        static let deleting: WritingOptions = [.forDeleting, .forReplacing]
    }
}
