public import Foundation

/// A summary of a container's files, made without opening a store, and without writing or coordinating anything.
public struct ContainerSurvey: Sendable, Codable, Equatable {
    /// The account, from the path.
    public var account: String
    /// The container's identifier, from the path.
    public var container: String
    /// The container's directory.
    public var path: String
    /// The peers with an attachment mark, by name.
    public var attached: [String]
    /// The contents of stores, by name.
    public var stores: [Store]

    /// One store's content.
    public struct Store: Sendable, Codable, Equatable {
        /// The content's path below `CoreData`: its name, unless the app places it deeper.
        public var name: String
        /// The highest epoch that a mark names; 0 without a mark.
        public var epoch: Int64
        /// The peers with a directory, by name.
        public var peers: [Peer]
        /// The number of logs in this epoch.
        public var logs: Int
        /// The bytes of these logs.
        public var bytes: Int64
        /// The space that files take, including ended epochs and other programs' files.
        public var storage: Storage
        /// The reason why it cannot be read, with the directory; nil if it can.
        public var fault: String?
    }

    /// Files and their bytes.
    public struct Amount: Sendable, Codable, Equatable {
        /// The number of files.
        public var files = 0
        /// Their size in bytes.
        public var bytes: Int64 = 0

        package init(files: Int = 0, bytes: Int64 = 0) {
            self.files = files
            self.bytes = bytes
        }
    }

    /// The space that a store's content takes, by kind.
    public struct Storage: Sendable, Codable, Equatable {
        /// The logs of the present epoch.
        public var logs = Amount()
        /// Large values.
        public var values = Amount()
        /// Baselines.
        public var baselines = Amount()
        /// Receipts.
        public var receipts = Amount()
        /// Marks of epochs.
        public var marks = Amount()
        /// Files that are being written.
        public var temporary = Amount()
        /// All other files: ended epochs, other programs' files.
        public var other = Amount()

        package init() {}
    }

    /// One peer of a store.
    public struct Peer: Sendable, Codable, Equatable {
        /// Its name.
        public var peer: String
        /// The device's name, from its receipt.
        public var device: String?
        /// The app's name, from its receipt.
        public var app: String?
        /// The time of its receipt, by its own clock.
        public var seen: Date?
        /// The number of its own logs in the container.
        public var logs: Int
        /// The bytes of these logs.
        public var bytes: Int64
        /// Their highest sequence.
        public var last: Int64
        /// Whether two logs have one sequence: the identifier was used in two places at once.
        public var isForked: Bool
        /// The number of its logs that any receipt names but that have not arrived: neither the log nor a baseline with
        /// it exists.
        public var late: Int64
        /// The logs of others that it has read.
        public var knowledge: [Lag]
        /// The reason why not all of it can be read, with the directory; nil if all of it can.
        public var fault: String?
    }

    /// How far a peer has read the logs of another.
    public struct Lag: Sendable, Codable, Equatable {
        /// The author of the logs.
        public var peer: String
        /// The last one read, on any branch.
        public var read: Int64
        /// The number of logs that are not read.
        public var behind: Int64
        /// When the first of these was written.
        ///
        /// It is the time by the author's clock, or the file's time if the log cannot be read; nil if there are no
        /// unread logs.
        public var oldest: Date?
    }
}
