import Logging
public import SystemPackage

extension TreeWatcher {
    /// The options of a watcher.
    public struct Options: Sendable {
        /// Where raw events come from.
        public enum Source: Sendable {
            /// The kernel's inotify(7), directly.
            case kernel
            /// The helper program at a path, over libinotifytools.
            case inotifytools(helper: FilePath)
            /// A source of one's own, such as a script; one for each watcher.
            case custom(any TreeEventSource)
        }

        /// Whether several watchers of the process share the watch of a tree.
        ///
        /// They share one index and one scan. Each has its own options, readers and waits.
        ///
        /// Trees are told apart by the paths of their roots, without `.` and `..`, not by the directories there. Two
        /// paths that lead to one directory through a symbolic link have a tree each: the link may lead elsewhere
        /// later, or nowhere, which is a loss for the one path and not for the other. Each tree watches the directories
        /// above its own path for that, also while its root is missing.
        package enum Sharing: Sendable {
            /// The tree is watched for this watcher alone.
            case alone
            /// Watchers of the same root share a tree, and those in it may join.
            case open
            /// The watcher joins a shared tree that contains its root. Otherwise its root is watched for it alone.
            case join
        }

        /// How long a path must be quiet before its change is reported.
        public struct Settling: Sendable, Hashable {
            /// How long nothing may have happened to the path.
            public var quiet: Duration
            /// How long a change is held back at most.
            public var maximum: Duration

            /// Settling after a time without changes.
            /// - Parameters:
            ///   - quiet: How long nothing may have happened to the path.
            ///   - maximum: How long a change is held back at most; ten times as long where it is not given.
            public init(quiet: Duration, maximum: Duration? = nil) {
                self.quiet = quiet
                self.maximum = maximum ?? quiet * 10
            }
        }

        /// Whether changes of permissions, owner, times and extended attributes are reported.
        public var attributes = false
        /// Shell patterns, glob(7), of entries that are neither reported nor watched.
        ///
        /// A pattern without a slash is compared with names at every depth, and a pattern with a slash with the path
        /// from the root. A pattern that ends in a slash excludes only directories.
        public var exclude: [String] = []
        /// Whether a symbolic link in the root's place is followed.
        ///
        /// If not, the root counts as lost while a link is there.
        public var followsRoot = true
        /// Whether the root may be missing when watching begins.
        ///
        /// The watcher then waits for a missing root as for a lost one: the stream begins with
        /// ``TreeChange/Kind/rootLost(_:)`` and ``TreeChange/RootLoss/absent``, and continues with
        /// ``TreeChange/Kind/rootBack`` and ``TreeChange/Kind/ready`` when the root appears. This also applies to a
        /// root that cannot be read, or that is behind a directory that cannot be searched. The watcher needs events
        /// only from the lowest existing directory above the root.
        public var awaitsRoot = false
        /// Whether related changes are combined into one.
        ///
        /// A file that is created and written, or only written, is reported when its writer closes it: after a second,
        /// or the settling maximum, at the latest. A removed directory stands for everything below it.
        public var collapses = false
        /// Whether files are reported only when they are quiet; nil reports at once.
        public var settling: Settling?
        /// Where raw events come from.
        public var source = Source.kernel
        /// Whether other watchers share the tree.
        ///
        /// A custom source serves one watcher.
        package var sharing = Sharing.alone
        /// Records the watcher's metrics; nil for a recorder of its own.
        package var metrics: MetricRecorder?
        /// How many changes a subscription keeps for its reader before it folds them into net differences.
        public var readerLimit = 65_536
        /// How many bytes of delivered changes are kept for ``TreeWatcher/changes(since:)``.
        public var historyLimit = 4 << 20
        /// How often what cannot be watched is looked through for differences.
        public var sweepInterval = Duration.seconds(1)
        /// Called on the watching thread with the reason why a subtree cannot be watched, once for each subtree.
        ///
        /// Logs a warning unless it is set.
        public var diagnostics: @Sendable (TreeWatchingError) -> Void = { error in
            Logger.ubiquity.warning(
                "\(error.message)", metadata: .facts(error.path.map { [.event: "unwatched", .path: $0.string] } ?? [.event: "unwatched"]))
        }

        /// Everything at its default: the kernel's events, at once, without attributes.
        public init() {}

        func validate() throws(TreeWatchingError) {
            if let settling, settling.quiet <= .zero || settling.maximum < settling.quiet {
                throw .init(
                    .invalidOption,
                    "settling after \(settling.quiet), \(settling.maximum) at most, is not possible; both must be above zero, the second not below the first"
                )
            }
            if exclude.contains("") { throw .init(.invalidOption, "an empty exclusion pattern matches nothing; leave it out") }
            if readerLimit < 1 || historyLimit < 0 {
                throw .init(.invalidOption, "a reader limit below 1 or a history limit below 0 is not possible")
            }
        }
    }
}

extension Duration {
    /// The whole nanoseconds: none below zero, and a century at most, so that they can be added to an instant.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = Swift.min(Swift.max(self, .zero), .seconds(3_155_760_000)).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
