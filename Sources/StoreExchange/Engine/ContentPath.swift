public import Foundation
internal import StoreFormat
package import SystemPackage
public import UbiquityContainers

extension StoreOptions {
    /// Places the content at a URL in a container; see ``Advanced/contentPath``.
    ///
    /// - Parameters:
    ///   - url: a directory below the container's `CoreData`. It need not exist.
    ///   - container: the container. The options keep the path in it, so that the store follows the account.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if a content cannot lie there.
    public mutating func placeContent(at url: URL, in container: UbiquityContainer) throws {
        guard url.isFileURL, var path = Optional(FilePath(url.path(percentEncoded: false)).lexicallyNormalized()), path.removePrefix(container.path)
        else {
            throw UbiquitousStoreError(
                .unsupported, "\(url) does not lie in the container \(container.path); name a directory in its CoreData.", path: container.path)
        }
        if let fault = Self.fault(inContentPath: path) {
            throw UbiquitousStoreError(.unsupported, "A content cannot lie at \(url): it \(fault).", path: path)
        }
        advanced.contentPath = path
    }

    /// The content's name in states, logs and lists: its path below `CoreData`.
    package var content: String { advanced.contentPath.map { $0.components.dropFirst().map(\.string).joined(separator: "/") } ?? contentName }

    /// Returns why a content cannot lie at a path, or nil if it can.
    package static func fault(inContentPath path: FilePath) -> String? {
        let names = path.components
        guard path.isRelative, names.count > 1, names.first?.string == UbiquityContainer.storesName else {
            return "does not lie below the container's CoreData, the only place where stores are distinguished from items"
        }
        guard names.count <= UbiquityContainer.deepestContent + 1 else {
            return "lies more than \(UbiquityContainer.deepestContent) directories below CoreData"
        }
        for name in names.dropFirst() {
            if name.kind != .regular { return "has the component “\(name)” in its path" }
            if let fault = PathComponentRule.fault(in: name.string) { return "has a name, \(name.string.debugDescription), that \(fault)" }
            if UbiquityContainer.isOfContent(name.string) || ForeignNames.matches(name.string) {
                return "has a name, “\(name.string)”, which has another meaning in a content"
            }
        }
        return nil
    }
}
