public import Foundation

/// What a look at a container's files tells, without opening a store, and without writing or coordinating anything.
public struct ContainerSurvey: Sendable, Codable, Equatable {
    /// The account, from the path.
    public var account: String
    /// The container's identifier, from the path.
    public var container: String
    /// The container's directory.
    public var path: String
    /// The peers that have left an attachment mark, by name.
    public var attached: [String]
    /// The contents of stores, by name.
    public var stores: [Store]

    /// One store's content.
    public struct Store: Sendable, Codable, Equatable {
        /// The content, by its path below `CoreData`: its name, unless the app puts it deeper.
        public var name: String
        /// The highest epoch that a mark names; 0 where there is no mark.
        public var epoch: Int64
        /// The peers that have a directory, by name.
        public var peers: [Peer]
        /// How many logs there are in this epoch.
        public var logs: Int
        /// Their bytes.
        public var bytes: Int64
        /// What takes how much space, ended epochs and other programs' files included.
        public var storage: Storage
        /// Why it cannot be looked at, with the directory; nil where it can.
        public var fault: String?
    }

    /// Files and their bytes.
    public struct Amount: Sendable, Codable, Equatable {
        /// How many files.
        public var files = 0
        /// Their bytes.
        public var bytes: Int64 = 0

        package init(files: Int = 0, bytes: Int64 = 0) {
            self.files = files
            self.bytes = bytes
        }
    }

    /// What a store's content takes, by kind.
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
        /// What is being written.
        public var temporary = Amount()
        /// Everything else: ended epochs, other programs' files.
        public var other = Amount()
    }

    /// One peer of a store.
    public struct Peer: Sendable, Codable, Equatable {
        /// Its name.
        public var peer: String
        /// The device's name, from its receipt.
        public var device: String?
        /// The app's name, from its receipt.
        public var app: String?
        /// When it wrote its receipt, by its own clock.
        public var seen: Date?
        /// How many logs of its own lie there.
        public var logs: Int
        /// Their bytes.
        public var bytes: Int64
        /// The highest sequence of them.
        public var last: Int64
        /// Whether there are two logs of one sequence: the identifier has been in use in two places at once.
        public var isForked: Bool
        /// How many of its logs somebody's receipt names, itself included, that have not arrived: that are neither there nor in a baseline that is.
        public var late: Int64
        /// Whose logs it has read, and how far.
        public var knowledge: [Lag]
        /// Why not all of it can be looked at, with the directory; nil where it can.
        public var fault: String?
    }

    /// How far a peer has read the logs of another.
    public struct Lag: Sendable, Codable, Equatable {
        /// Whose logs.
        public var peer: String
        /// The last one read, on any branch.
        public var read: Int64
        /// How many more there are.
        public var behind: Int64
        /// When the first of these was written, by its author's clock, or by its file's time where it cannot be read; nil where there are none.
        public var oldest: Date?
    }
}
