public import Foundation
internal import StoreFormat
package import SystemPackage
public import UbiquityContainers

extension StoreOptions {
    /// Places the content by a URL in a container: see ``contentPath``.
    ///
    /// - Parameters:
    ///   - url: a directory below the container's `CoreData`, which need not be there.
    ///   - container: the container. What is kept is the path in it, so that the store follows the account.
    /// - Throws: `UbiquitousStoreError` with `unsupported` where a content cannot lie there.
    public mutating func placeContent(at url: URL, in container: UbiquityContainer) throws {
        guard url.isFileURL, var path = Optional(FilePath(url.path(percentEncoded: false)).lexicallyNormalized()), path.removePrefix(container.path)
        else {
            throw UbiquitousStoreError(
                .unsupported, "\(url) does not lie in the container \(container.path); name a directory in its CoreData.", path: container.path)
        }
        if let fault = Self.fault(inContentPath: path) {
            throw UbiquitousStoreError(.unsupported, "A content cannot lie at \(url): it \(fault).", path: path)
        }
        contentPath = path
    }

    /// What the content is called in states, logs and lists: its path below `CoreData`.
    package var content: String { contentPath.map { $0.components.dropFirst().map(\.string).joined(separator: "/") } ?? contentName }

    /// What is wrong with a place for a content, or nil.
    package static func fault(inContentPath path: FilePath) -> String? {
        let names = path.components
        guard path.isRelative, names.count > 1, names.first?.string == UbiquityContainer.storesName else {
            return "does not lie below the container's CoreData, where alone stores are told from items"
        }
        guard names.count <= UbiquityContainer.deepestContent + 1 else {
            return "lies more than \(UbiquityContainer.deepestContent) directories below CoreData"
        }
        for name in names.dropFirst() {
            if name.kind != .regular { return "has a name like “\(name)” on its way" }
            if let fault = PathComponentRule.fault(in: name.string) { return "has a name, \(name.string.debugDescription), that \(fault)" }
            if UbiquityContainer.isOfContent(name.string) || ForeignNames.matches(name.string) {
                return "has a name, “\(name.string)”, that stands for something else in a content"
            }
        }
        return nil
    }
}
