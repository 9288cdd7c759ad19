/// Why Syncthing cannot tell how items stand.
///
/// The message names the address and says what to do; it never holds the key.
public struct SyncthingError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's stable name.
        public let description: String

        /// The address is none that can be asked.
        public static let invalidAddress = Code(description: "invalidAddress")
        /// Nothing answers at the address.
        public static let notReachable = Code(description: "notReachable")
        /// An answer took too long.
        public static let timedOut = Code(description: "timedOut")
        /// Syncthing does not accept the key.
        public static let wrongKey = Code(description: "wrongKey")
        /// The file that is to hold Syncthing's certificate does not.
        public static let unusableCertificate = Code(description: "unusableCertificate")
        /// What answers shows another certificate than the one that is trusted.
        public static let untrusted = Code(description: "untrusted")
        /// No folder of Syncthing's holds the container.
        public static let folderNotShared = Code(description: "folderNotShared")
        /// The answer is none of Syncthing's.
        public static let unexpectedAnswer = Code(description: "unexpectedAnswer")
    }

    /// The kind of failure.
    public let code: Code
    /// What failed, at which address, and what to do.
    public let message: String
    /// The error beneath.
    public let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// Whether it may pass by itself, such as while Syncthing restarts.
    package var isPassing: Bool { [.notReachable, .timedOut, .unexpectedAnswer].contains(code) }

    /// The message, with the cause behind it.
    public var description: String {
        guard let cause else { return message }
        return "\(message) (\(cause))"
    }
}
