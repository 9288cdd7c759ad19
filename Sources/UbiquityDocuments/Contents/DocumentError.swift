public import Foundation
public import SystemPackage

/// The reason why a document cannot be opened, saved or moved.
///
/// The message names the path and the remedy.
public struct DocumentError: Error, CustomStringConvertible, Sendable {
    /// The kind of failure, for programs.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's stable name.
        public let description: String

        /// The item, or something in the package, cannot be read.
        public static let unreadable = Code(description: "unreadable")
        /// The item cannot be written.
        public static let unwritable = Code(description: "unwritable")
        /// The item was deleted while the document was open.
        public static let gone = Code(description: "gone")
        /// The call needs an open document, or one that is not open.
        public static let wrongState = Code(description: "wrongState")
        /// A name or URL is not one of a document.
        public static let invalidName = Code(description: "invalidName")
        /// The item is a directory, and not declared as a file package.
        public static let notPackage = Code(description: "notPackage")
        /// A method that the subclass must override was not overridden.
        public static let notImplemented = Code(description: "notImplemented")
    }

    /// The kind of failure.
    public let code: Code
    /// The failure, its path, and the remedy.
    public let message: String
    /// The item that the error concerns.
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
    public var description: String { cause.map { "\(message) (\($0))" } ?? message }
}

extension DocumentError: LocalizedError {
    /// The message.
    public var errorDescription: String? { description }
}
