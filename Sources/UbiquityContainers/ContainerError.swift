public import SystemPackage

/// What went wrong with an account, a device home or a container.
///
/// The message names the path and says what to do about it.
public struct ContainerError: Error, CustomStringConvertible, Sendable {
    /// The kind of failure, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's stable name.
        public let description: String

        /// No account is signed in on this device.
        public static let signedOut = Code(description: "signedOut")
        /// No container is declared, in code or in `config.json`, where none was named.
        public static let notDeclared = Code(description: "notDeclared")
        /// An account name, container identifier or peer identifier has a form that is not allowed.
        public static let invalidName = Code(description: "invalidName")
        /// The containers root is missing or not a directory.
        public static let rootUnavailable = Code(description: "rootUnavailable")
        /// There is an item already where one was to be put.
        public static let fileExists = Code(description: "fileExists")
        /// A file or directory could not be read, written or created.
        public static let fileSystem = Code(description: "fileSystem")
        /// A file of the device home or a container does not hold what it should.
        public static let malformed = Code(description: "malformed")
        /// The path does not lie in the container.
        public static let notInContainer = Code(description: "notInContainer")
        /// Nothing on this device can do it: no transfer agent runs here.
        public static let notAvailable = Code(description: "notAvailable")
        /// The version of a file that was named does not allow it, such as the current one its removal.
        public static let notAllowed = Code(description: "notAllowed")
        /// A file was written by a newer version of this package.
        public static let newerFormat = Code(description: "newerFormat")
    }

    /// The kind of failure.
    public let code: Code
    /// What failed, for which path, and what to do.
    public let message: String
    /// The file or directory that it is about.
    public let path: FilePath?
    /// The error beneath, such as an `Errno`.
    public let cause: (any Error)?

    package init(_ code: Code, _ message: String, path: FilePath? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.cause = cause
    }

    /// The message, with the cause behind it.
    public var description: String {
        guard let cause else { return message }
        return "\(message) (\(cause))"
    }
}
