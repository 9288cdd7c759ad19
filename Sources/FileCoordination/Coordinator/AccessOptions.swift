extension FileCoordinator {
    /// The options for reading an item; Cocoa's `NSFileCoordinator.ReadingOptions`.
    public struct ReadingOptions: OptionSet, Hashable, Sendable, Codable {
        /// The bits.
        public let rawValue: UInt32

        /// Makes a set from its bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Presenters are not asked to save first; they are still asked to relinquish the item to the reader.
        public static let withoutChanges = ReadingOptions(rawValue: 1 << 0)
        /// The accessor gets the URL of a symbolic link's destination, and the access claims both.
        ///
        /// Not for preparations.
        public static let resolvesSymbolicLink = ReadingOptions(rawValue: 1 << 1)
        /// The accessor reads only data that is already on this device; nothing is downloaded.
        public static let immediatelyAvailableMetadataOnly = ReadingOptions(rawValue: 1 << 2)
        /// The accessor gets a snapshot of the item, and the claim ends once the snapshot is made; a directory becomes
        /// one stored zip file.
        public static let forUploading = ReadingOptions(rawValue: 1 << 3)
    }

    /// The options for writing an item; Cocoa's `NSFileCoordinator.WritingOptions`.
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
        /// On a plain file this equals no option.
        public static let forMoving = WritingOptions(rawValue: 1 << 1)
        /// The item's current content will be read and changed, so presenters are asked to save first.
        public static let forMerging = WritingOptions(rawValue: 1 << 2)
        /// Another item will replace this one.
        ///
        /// The claim is on the name: if the item moves away meanwhile, the claim stays.
        public static let forReplacing = WritingOptions(rawValue: 1 << 3)
        /// Only metadata that is independent of the item's content will be changed.
        public static let contentIndependentMetadataOnly = WritingOptions(rawValue: 1 << 4)
        /// The item's local copy will be removed, and can be fetched again; presenters are asked to accommodate that.
        package static let forEvicting = WritingOptions(rawValue: 1 << 5)

        /// The options that affect the place of an item, and so everything below a directory.
        static let structural: WritingOptions = [.forDeleting, .forMoving, .forReplacing, .forEvicting]
        /// The options that remove the current item.
        static let deleting: WritingOptions = [.forDeleting, .forReplacing]
    }
}
