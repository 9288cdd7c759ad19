package import Foundation
public import SystemPackage

/// An error about an account, a device home or a container.
///
/// The message names the path and the remedy.
public struct ContainerError: Error, CustomStringConvertible, Sendable {
    /// The kind of failure, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's stable name.
        public let description: String

        /// No account is signed in on this device.
        public static let signedOut = Code(description: "signedOut")
        /// No container was named, and none is declared in code or in `config.json`.
        public static let notDeclared = Code(description: "notDeclared")
        /// An account name, container identifier or peer identifier has an invalid form.
        public static let invalidName = Code(description: "invalidName")
        /// The containers root is missing or is not a directory.
        public static let rootUnavailable = Code(description: "rootUnavailable")
        /// An item already exists at the destination.
        public static let fileExists = Code(description: "fileExists")
        /// A file or directory could not be read, written or created.
        public static let fileSystem = Code(description: "fileSystem")
        /// A file of the device home or a container has invalid content.
        public static let malformed = Code(description: "malformed")
        /// The path is not in the container.
        public static let notInContainer = Code(description: "notInContainer")
        /// The operation needs a transfer agent, and none runs on this device.
        public static let notAvailable = Code(description: "notAvailable")
        /// The version of the file does not allow the operation, such as removing the current version.
        public static let notAllowed = Code(description: "notAllowed")
        /// A file was written by a newer version of this package.
        public static let newerFormat = Code(description: "newerFormat")
    }

    /// The kind of failure.
    public let code: Code
    /// The failure, its path, and the remedy.
    public let message: String
    /// The file or directory that the error concerns.
    public let path: FilePath?
    /// The underlying error, such as an `Errno`.
    public let cause: (any Error)?

    package init(_ code: Code, _ message: String, path: FilePath? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.cause = cause
    }

    /// The message, followed by the cause.
    public var description: String {
        guard let cause else { return message }
        return "\(message) (\(cause))"
    }
}

extension ContainerError {
    /// A directory whose file system does not answer.
    package static func silent(_ directory: FilePath, since: Date) -> ContainerError {
        ContainerError(
            .rootUnavailable,
            "\(directory) has not answered since \(since.formatted(.iso8601)); check the server or the program that its file system depends on.",
            path: directory)
    }
}
