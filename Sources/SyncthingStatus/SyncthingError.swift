/// The reason why Syncthing cannot report statuses.
///
/// The message names the address and the remedy; it never contains the key.
public struct SyncthingError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's stable name.
        public let description: String

        /// The address is unusable.
        public static let invalidAddress = Code(description: "invalidAddress")
        /// Nothing answers at the address.
        public static let notReachable = Code(description: "notReachable")
        /// An answer took too long.
        public static let timedOut = Code(description: "timedOut")
        /// Syncthing does not accept the key.
        public static let wrongKey = Code(description: "wrongKey")
        /// The configured file does not contain Syncthing's certificate.
        public static let unusableCertificate = Code(description: "unusableCertificate")
        /// The server shows another certificate than the trusted one.
        public static let untrusted = Code(description: "untrusted")
        /// No Syncthing folder contains the container.
        public static let folderNotShared = Code(description: "folderNotShared")
        /// The package was built without its trait `Syncthing`, so it has no HTTP client.
        public static let notIncluded = Code(description: "notIncluded")
        /// The answer is not from Syncthing.
        public static let unexpectedAnswer = Code(description: "unexpectedAnswer")
    }

    /// The kind of failure.
    public let code: Code
    /// The failure, its address, and the remedy.
    public let message: String
    /// The underlying error.
    public let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// Whether the error may be temporary, for example while Syncthing restarts.
    package var isPassing: Bool { [.notReachable, .timedOut, .unexpectedAnswer].contains(code) }

    /// The message, followed by the cause.
    public var description: String {
        guard let cause else { return message }
        return "\(message) (\(cause))"
    }
}
