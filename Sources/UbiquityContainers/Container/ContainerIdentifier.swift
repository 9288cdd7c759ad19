/// The name of a container, such as `org.example.notes`.
public struct ContainerIdentifier: Hashable, Sendable, CustomStringConvertible {
    /// The identifier as given.
    public let description: String

    /// Makes an identifier after checking its form.
    ///
    /// - Parameter name: letters, digits, dots, hyphens and underscores, as in a reversed domain name; it does not
    ///   begin with a dot.
    /// - Throws: `ContainerError` with `invalidName`.
    public init(_ name: String) throws(ContainerError) {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
        let fault =
            PathComponentRule.fault(in: name) ?? (isPlain ? nil : "contains characters other than letters, digits, dots, hyphens and underscores")
        if let fault {
            throw ContainerError(.invalidName, "The container identifier \(name.debugDescription) \(fault); use one like org.example.notes.")
        }
        description = name
    }
}
