/// The container with a scope that a store lies in: many accounts read and write it, and every reader proves their rights
/// by signatures.
///
/// ```swift
/// options.scope = .public("c7k…", at: "/srv/game")
/// ```
public struct StoreScope: Hashable, Sendable {
    /// The container's identifier.
    public let container: String
    /// The path of the directory that holds `public/<container>`.
    public let root: String

    /// A public container in a directory: anybody reads it, and the accounts that it admits write their own records.
    ///
    /// - Parameters:
    ///   - container: the container's identifier, 52 digits of base 32, as `ubcontrol public create` prints it.
    ///   - root: the path of the directory that holds `public/<container>`, such as a synchronised folder.
    /// - Returns: the scope. What is wrong with it is reported when a store is opened.
    public static func `public`(_ container: String, at root: String) -> StoreScope { StoreScope(container: container, root: root) }
}
