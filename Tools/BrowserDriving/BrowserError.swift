/// A command that the browser has not carried out.
package struct BrowserError: Error, CustomStringConvertible, Sendable {
    /// The command, as its request.
    package var command: String
    /// The kind of error, such as `no such element`.
    package var code: String
    package var message: String

    package var description: String { "The browser has not carried out “\(command)”: \(code): \(message)" }
}
