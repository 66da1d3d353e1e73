/* Opens or closes the admin's sidebar before it is painted, as Django's own script does after that. */
const isOpen = localStorage.getItem("django.admin.navSidebarIsOpen") !== "false";
document.getElementById("main").classList.toggle("shifted", isOpen);
